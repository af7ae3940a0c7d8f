import { type FileStore, MemoryRunStore, type RunRecord, RunStore } from '../../src/index.js';

/**
 * A store that takes its time, as one with a database does: every step takes effect some turns of the event loop after
 * its call, and is answered some turns after that. Steps that concern one run keep their order, others do not.
 */
export class SlowRunStore extends RunStore {
  readonly #last = new Map<string, Promise<unknown>>();

  get files(): FileStore {
    return this.memory.files;
  }

  /**
   * @param wait how many turns of the event loop a wait takes; asked anew for each
   * @param durable what the store says of itself
   * @param memory what takes the steps
   */
  constructor(
    private readonly wait: () => number,
    readonly durable = false,
    private readonly memory = new MemoryRunStore(),
  ) {
    super();
  }

  admit(...args: Parameters<RunStore['admit']>) {
    return this.#inOrder(args[0].runId, () => {
      const admitted = this.memory.admit(...args);
      return { ...admitted, run: still(admitted.run), ahead: admitted.ahead.map(still) };
    });
  }

  start(...args: Parameters<RunStore['start']>) {
    return this.#inOrder(args[0].id, () => this.memory.start(...args));
  }

  append(...args: Parameters<RunStore['append']>) {
    return this.#inOrder(args[0].id, () => this.memory.append(...args));
  }

  finish(...args: Parameters<RunStore['finish']>) {
    return this.#inOrder(args[0].id, () => {
      const finished = this.memory.finish(...args);
      return finished && { run: still(finished.run), next: finished.next && still(finished.next) };
    });
  }

  find(...args: Parameters<RunStore['find']>) {
    return this.#slowly(() => {
      const run = this.memory.find(...args);
      return run && still(run);
    });
  }

  read(...args: Parameters<RunStore['read']>) {
    return this.#slowly(() => this.memory.read(...args));
  }

  turns(...args: Parameters<RunStore['turns']>) {
    return this.#slowly(() => this.memory.turns(...args));
  }

  queue(...args: Parameters<RunStore['queue']>) {
    return this.#slowly(() => this.memory.queue(...args).map(still));
  }

  erase(...args: Parameters<RunStore['erase']>) {
    return this.#slowly(() => this.memory.erase(...args));
  }

  #inOrder<T>(runId: string, step: () => T): Promise<T> {
    const before = this.#last.get(runId);
    let hasHappened!: () => void;
    this.#last.set(runId, new Promise<void>((resolve) => (hasHappened = resolve)));
    return this.#slowly(step, before, hasHappened);
  }

  async #slowly<T>(step: () => T, before?: Promise<unknown>, happened?: () => void): Promise<T> {
    await turns(this.wait());
    await before;
    try {
      return step();
    } finally {
      happened?.();
      await turns(this.wait());
    }
  }
}

/** Lets so many turns of the event loop pass. */
export async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** What a database returns does not change any more. */
function still({
  id,
  owner,
  sessionId,
  status,
  createdAt,
  startedAt,
  endedAt,
  lastSeq,
  end,
}: RunRecord): RunRecord {
  return { id, owner, sessionId, status, createdAt, startedAt, endedAt, lastSeq, end };
}
