import { setTimeout } from 'node:timers/promises';
import type FastCheck from 'fast-check';
import {
  type Admission,
  log,
  message,
  QueryError,
  type StoreHost,
  type RetentionOptions,
  type RunEnd,
  type RunRecord,
  type RunRef,
  type RunStore,
  type TurnAnswer,
} from 'nest-agent-query';
import { afterEach, beforeEach, expect, it } from './runner.js';

/** How a test wants its store. */
export interface StoreSettings {
  /** How much is kept, and how long. Members that are absent have the default of the store. */
  retention: Partial<RetentionOptions>;
  /** What the store is opened with: `store.open(events)`. */
  events: StoreHost;
}

/** A store for one test. */
export interface OpenStore {
  store: RunStore;
  /** Closes the store and removes its data. */
  close(): unknown;
  /**
   * Ends the store as a crash would, opens its data again with `events`, and recovers its runs. Resolves to the new store when these
   * are recovered. Only for a durable store.
   */
  restart?(events: StoreHost): Promise<RunStore>;
  /** Applies the retention now. Absent if the store does that with every call. */
  sweep?(): unknown;
  /** Moves the clock of the store forward. Absent if that is `Date.now()`. */
  advanceClock?(milliseconds: number): void;
}

/** Opens an empty store. */
export type OpenStoreFor = (settings: StoreSettings) => OpenStore | Promise<OpenStore>;

/**
 * What a store may be without.
 *
 * | capability | what it is |
 * |---|---|
 * | `changesSessions` | it has `fork`, and admissions can replace turns |
 * | `deliveries` | it has `deliveries`: webhooks of runs |
 * | `erasesRuns` | it has `eraseRun` |
 * | `durable` | runs that wait survive the end of the process; it has `query`, `handOver` and states |
 * | `files` | it has `files`, and files of answers are kept with it |
 * | `inputs` | it has `inputs`: runs can ask |
 * | `lengthLimits` | it drops what exceeds the limits of length of its retention |
 * | `logLength` | it knows the length of all logs |
 * | `modules` | several modules share it, each with runs of its own |
 * | `ownerLimits` | it gives slots to owners in turn, and has `StoreHost.maxRunningPerOwner` |
 * | `retention` | it drops runs and sessions some time after their last use |
 * | `uploads` | it has `uploads`: files can be sent before their query |
 * | `usage` | it has `usage`: it adds up what owners use |
 */
export type StoreCapability =
  | 'changesSessions'
  | 'deliveries'
  | 'durable'
  | 'erasesRuns'
  | 'files'
  | 'inputs'
  | 'lengthLimits'
  | 'logLength'
  | 'modules'
  | 'ownerLimits'
  | 'retention'
  | 'uploads'
  | 'usage';

/** The store of the present test. Tests are executed one after another. */
export let store: RunStore;
let opened: OpenStore | undefined;
let openEmpty: OpenStoreFor;
let missing: Partial<Record<StoreCapability, string>> = {};
let shareOfCases = 1;

/** How many cases of so many a property of the present test tries. */
export function casesOf(count: number): number {
  return Math.ceil(count * shareOfCases);
}

/** Any text, also with surrogates that stand alone. The alphabet of all characters that fast-check has takes a second to build. */
export const anyText = (fc: typeof FastCheck, lengths: { minLength?: number; maxLength: number }) =>
  fc.string({ ...lengths, unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)) });

const dateNow = Date.now.bind(Date);
let passedMs = 0;

/** Opens a store before each test that follows, and closes it afterwards. */
export function openBeforeEach(open: OpenStoreFor, without: typeof missing, share: number): void {
  missing = without;
  beforeEach(() => {
    openEmpty = open;
    shareOfCases = share;
    return reopen();
  });
  afterEach(async () => {
    Date.now = dateNow;
    passedMs = 0;
    await close();
  });
}

/** Closes the store of the test, and opens another one that is empty. */
export async function reopen(
  retention: Partial<RetentionOptions> = {},
  events: Partial<StoreHost> = {},
): Promise<void> {
  await close();
  opened = await openEmpty({ retention, events: eventsOf(events) });
  store = opened.store;
}

/** Ends the store as a crash would, and opens its data again. */
export async function restart(events: Partial<StoreHost> = {}): Promise<void> {
  store = await opened!.restart!(eventsOf(events));
}

/** Applies the retention. */
export async function sweep(): Promise<void> {
  await opened!.sweep?.();
}

/** Lets time pass, and applies the retention. */
export async function later(milliseconds: number): Promise<void> {
  passedMs += milliseconds;
  Date.now = () => dateNow() + passedMs;
  opened!.advanceClock?.(milliseconds);
  await sweep();
}

async function close(): Promise<void> {
  await opened?.close();
  opened = undefined;
}

export function isWith(capability: StoreCapability): boolean {
  return missing[capability] === undefined;
}

/** A test of what the store may be without. */
export function itWith(capability: StoreCapability): typeof it.skip {
  const reason = missing[capability];
  return reason === undefined ? it : (name) => it.skip(`${name} (${capability}: ${reason})`, () => undefined);
}

/** Defines tests of what the store may be without. */
export function describeWith(capability: StoreCapability, define: () => void): void {
  const reason = missing[capability];
  if (reason === undefined) define();
  else it.skip(`${capability}: ${reason}`, () => undefined);
}

/** What a service does that wants to know nothing, and executes no run again. */
export function eventsOf(events: Partial<StoreHost> = {}): StoreHost {
  const nothing = () => undefined;
  return {
    restarts: () => 0,
    maxRunningPerOwner: () => Infinity,
    endpoints: () => [],
    wished: nothing,
    lost: nothing,
    recovered: nothing,
    resolved: nothing,
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
export async function readAll(from: RunStore, { owner, id }: RunRef, after = 0): Promise<string[]> {
  const texts: string[] = [];
  for (;;) {
    const slice = await from.read({ owner, id }, after + texts.length);
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

/**
 * Checks a condition again and again until it holds, less often the longer that takes: a check may be a query.
 *
 * @throws {Error} it does not hold after 50 s: before the time limit of the test, so that nothing goes on after it
 */
export async function eventually(condition: () => boolean | Promise<boolean>): Promise<void> {
  const since = performance.now();
  while (!(await condition())) {
    const passed = performance.now() - since;
    if (passed > 50_000) throw new Error('The store did not do within 50 s what the test waits for.');
    await setTimeout(passed / 20);
  }
}

/** Waits until clocks show another time. */
export async function tick(): Promise<void> {
  const since = Date.now() + 1;
  await eventually(() => Date.now() > since);
}

export const COMPLETED: RunEnd = { status: 'completed' };
export const CANCELLED: RunEnd = { status: 'cancelled' };
export const FAILED: RunEnd = {
  status: 'failed',
  error: { code: 'handler_failed', message: 'The agent failed.' },
};
export const DONE = '{"type":"done","data":{"status":"completed"}}';
export const HOUR = 60 * 60_000;

/** How much the clock of a store may differ from that of this process, which runs on the same machine, in milliseconds. */
export const CLOCK_MS = 50;

/** A session that queries join, and whose queue is long enough for them. */
export const inSession = (id: string) => ({ id, policy: 'enqueue' as const, maxWaiting: 100 });
export const textOf = (content: string) => JSON.stringify(message(content));

export const admit = async (admission: Partial<Admission> = {}) => store.admit(admissionOf(admission));
export const admitTo = (id: string, admission: Partial<Admission> = {}) =>
  admit({ session: inSession(id), ...admission });
/** Admits a query, to a free slot unless it says otherwise. */
export const newRun = async (admission: Partial<Admission> = {}) => (await admit(admission)).run;
export const wait = async (admission: Partial<Admission> = {}) =>
  (await admit({ mayStart: false, ...admission })).run;
export const finish = async ({ owner, id, attempt }: RunRecord, end: RunEnd = COMPLETED, text = '') =>
  store.end({ owner, id, attempt }, end, keptAnswer(text));
export const logOf = (run: RunRef, after = 0) => readAll(store, run, after);
export const take = async (count = 100) => ids(await store.take(count));
export const find = async ({ owner, id }: RunRef) => store.find(owner, id);

/** Starts the only run that is ready. */
export async function takeAgain(run: RunRecord): Promise<RunRecord> {
  const [taken, ...others] = await store.take(9);
  expect([taken?.id, others]).toEqual([run.id, []]);
  return taken!;
}

/** The envelope that says where the next attempt begins. */
export const restartedOf = (attempt: number, from: number) =>
  JSON.stringify({ type: 'restarted', data: { attempt, from } });
export const noticeOf = (text: string) => JSON.stringify(log(text));
