import {
  type Admission,
  type LogSlice,
  message,
  QueryError,
  type RecoveryEvents,
  type RunRef,
  type RunStore,
  type TurnAnswer,
} from '../../src/query/index.js';

/** A store for one test. */
export interface OpenStore {
  store: RunStore;
  /** Closes the store and removes its data. */
  close(): Promise<void>;
  /**
   * Ends the store as a crash would, opens its data again, and recovers its runs. Resolves when these are recovered. Only for a
   * durable store.
   */
  restart?(events?: Partial<RecoveryEvents>): Promise<RunStore>;
  /** Applies the retention now. Absent if the store does that with every call. */
  sweep?(): Promise<void>;
  /** Moves the clock of the database forward. Absent if that is the clock of the process. */
  advanceClock?(milliseconds: number): void;
}

/** What a service does that wants to know nothing, and executes no run again. */
export function eventsOf(events: Partial<RecoveryEvents> = {}): RecoveryEvents {
  const nothing = () => undefined;
  return {
    restarts: () => 0,
    maxRunningPerOwner: () => Infinity,
    asked: nothing,
    lost: nothing,
    recovered: nothing,
    ready: nothing,
    ...events,
  };
}

let admissions = 0;

/** An admission of the owner `anonymous` to a free slot, without a session and an idempotency key. */
export function admissionOf(admission: Partial<Admission> = {}): Admission {
  return {
    runId: `run-${++admissions}`,
    owner: 'anonymous',
    parts: [{ type: 'text', text: 'Hello' }],
    kwargs: {},
    session: undefined,
    idempotency: undefined,
    detached: false,
    trace: undefined,
    mayStart: true,
    maxWaiting: 1_000,
    refusal: undefined,
    notices: () => [],
    ...admission,
  };
}

/** What a turn keeps of an answer that has only this text. */
export function keptAnswer(text = ''): TurnAnswer {
  return { text, envelopes: text === '' ? [] : [message(text)] };
}

/** Reads a log from a cursor to its present end, and checks that its slices have no gap. */
export async function readAll(store: RunStore, { owner, id }: RunRef, after = 0): Promise<string[]> {
  const texts: string[] = [];
  for (;;) {
    const slice: LogSlice = await store.read({ owner, id }, after + texts.length);
    expect(slice.first).toBe(after + texts.length + 1);
    if (slice.count === 0) return texts;
    const lines = slice.lines.split('\n');
    expect(lines).toHaveLength(slice.count);
    texts.push(...lines);
  }
}

/** The code and the details of a refusal; undefined if there is none. */
export async function refusalOf(work: () => unknown) {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    const { code, extras } = error;
    return { code, ...extras };
  }
}

/** The code of a refusal; `none` if there is none. */
export async function codeOf(work: () => unknown): Promise<string> {
  return (await refusalOf(work))?.code ?? 'none';
}

export function ids(runs: readonly { id: string }[]): string[] {
  return runs.map(({ id }) => id);
}
