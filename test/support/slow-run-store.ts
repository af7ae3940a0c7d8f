import {
  type DeliveryStore,
  type FileStore,
  type InputStore,
  MemoryRunStore,
  type StoreHost,
  type RunRecord,
  RunStore,
  type UploadStore,
  type UsageStore,
} from '../../src/index.js';

/**
 * A store that answers late, as one with a database does. Every step takes effect some ticks after its call, and is
 * answered some ticks after that. Steps of one run keep their order, others do not.
 */
export class SlowRunStore extends RunStore {
  readonly #last = new Map<string, Promise<unknown>>();
  override readonly changesSessions = true;
  override readonly files: FileStore;
  override readonly inputs: InputStore;
  override readonly uploads: UploadStore;
  override readonly deliveries: DeliveryStore;
  override readonly usage: UsageStore;

  /**
   * @param wait returns the number of ticks of a wait; called for each wait
   * @param durable what the store claims about itself
   * @param memory the store that executes the steps
   */
  constructor(
    private readonly wait: () => number,
    override readonly durable = false,
    private readonly memory = new MemoryRunStore(),
  ) {
    super();
    this.files = memory.files;
    const late = (runId: string, step: () => unknown) => this.#inOrder(runId, step);
    this.inputs = slowly(memory.inputs, late);
    this.deliveries = slowly(memory.deliveries, late);
    this.uploads = memory.uploads;
    this.usage = slowly(memory.usage, (_, step) => this.#slowly(step));
  }

  override open(events: StoreHost): void {
    this.memory.open(events);
  }

  admit(...args: Parameters<RunStore['admit']>) {
    return this.#inOrder(args[0].runId, () => {
      const admitted = this.memory.admit(...args);
      return { ...admitted, run: copyOf(admitted.run), ahead: admitted.ahead.map(copyOf) };
    });
  }

  take(...args: Parameters<RunStore['take']>) {
    return this.#slowly(() => this.memory.take(...args).map(copyOf));
  }

  override logLength() {
    return this.#slowly(() => this.memory.logLength());
  }

  append(...args: Parameters<RunStore['append']>) {
    return this.#inOrder(args[0].id, () => this.memory.append(...args));
  }

  wish(...args: Parameters<RunStore['wish']>) {
    return this.#inOrder(args[0].id, () => this.memory.wish(...args));
  }

  end(...args: Parameters<RunStore['end']>) {
    return this.#inOrder(args[0].id, () => {
      const ended = this.memory.end(...args);
      return ended && { ...ended, run: copyOf(ended.run), next: ended.next && copyOf(ended.next) };
    });
  }

  override eraseRun(...args: Parameters<RunStore['eraseRun']>) {
    return this.#inOrder(args[1], () => this.memory.eraseRun(...args));
  }

  override parts(...args: Parameters<RunStore['parts']>) {
    return this.#slowly(() => this.memory.parts(...args));
  }

  override fork(...args: Parameters<RunStore['fork']>) {
    return this.#slowly(() => this.memory.fork(...args));
  }

  async saveFile(...args: Parameters<RunStore['saveFile']>) {
    await this.#inOrder(args[0].id, () => this.memory.saveFile(...args));
  }

  part(...args: Parameters<RunStore['part']>) {
    return this.#slowly(() => this.memory.part(...args));
  }

  find(owner: string, runId: string) {
    return this.#slowly(() => {
      const run = this.memory.find(owner, runId);
      return run && copyOf(run);
    });
  }

  read(...args: Parameters<RunStore['read']>) {
    return this.#slowly(() => this.memory.read(...args));
  }

  override turn(...args: Parameters<RunStore['turn']>) {
    return this.#slowly(() => this.memory.turn(...args));
  }

  turns(...args: Parameters<RunStore['turns']>) {
    return this.#slowly(() => this.memory.turns(...args));
  }

  queue(...args: Parameters<RunStore['queue']>) {
    return this.#slowly(() => this.memory.queue(...args).map(copyOf));
  }

  runs(...args: Parameters<RunStore['runs']>) {
    return this.#slowly(() => {
      const { runs, next } = this.memory.runs(...args);
      return { runs: runs.map(copyOf), next };
    });
  }

  sessions(...args: Parameters<RunStore['sessions']>) {
    return this.#slowly(() => this.memory.sessions(...args));
  }

  erase(...args: Parameters<RunStore['erase']>) {
    return this.#slowly(() => this.memory.erase(...args));
  }

  #inOrder<T>(runId: string, step: () => T): Promise<T> {
    const before = this.#last.get(runId);
    let resolve!: () => void;
    this.#last.set(runId, new Promise<void>((settle) => (resolve = settle)));
    return this.#slowly(step, before, resolve);
  }

  async #slowly<T>(step: () => T, before?: Promise<unknown>, onDone?: () => void): Promise<T> {
    await ticks(this.wait());
    await before;
    try {
      return step();
    } finally {
      onDone?.();
      await ticks(this.wait());
    }
  }
}

/** Waits for a number of ticks. */
export async function ticks(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** A copy, because a record that a database returns does not change any more. */
function copyOf(run: RunRecord): RunRecord {
  const { id, owner, sessionId, status, createdAt, startedAt, endedAt, lastSeq, end } = run;
  const { attempt, detached, trace, path, metadata } = run;
  const state = { status, createdAt, startedAt, endedAt, lastSeq, end, attempt, detached };
  return { id, owner, sessionId, ...state, trace, path, metadata };
}

/** The same, but each method answers late, and those of one run in order. */
function slowly<Part extends object>(
  part: Part,
  late: (runId: string, step: () => unknown) => Promise<unknown>,
): Part {
  type Methods = Record<string, (...parameters: unknown[]) => unknown>;
  return new Proxy(part, {
    get:
      (_, name: string) =>
      (...parameters: unknown[]) => {
        const { id = '' } = Object(parameters[0]) as { id?: string };
        return late(id, () => (part as unknown as Methods)[name]!(...parameters));
      },
  });
}
