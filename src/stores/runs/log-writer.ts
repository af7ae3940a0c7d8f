import { QueryError } from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import type { LiveRun } from './live-run.js';
import type { Db, Tables } from '../schema/tables.js';

/** A stretch of a log is closed when it has so many characters. */
const STRETCH_LENGTH = 64 * 1024;
/** Rows of one statement: with six parameters each, far from what either database takes. */
const ROWS = 500;
/** What may wait for its commit, in characters: of one run, and in all. Beyond it the run fails. */
const RUN_WAITING_LENGTH = 16 * 1024 * 1024;
const WAITING_LENGTH = 256 * 1024 * 1024;

type Stretch = Tables['log'];

/** A commit that is to come: everything appended until it begins waits for the same promise. */
class Commit {
  readonly runs = new Set<LiveRun>();
  readonly done: Promise<void>;
  resolve!: () => void;
  reject!: (error: unknown) => void;

  constructor() {
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    // Not everyone who appends waits.
    this.done.catch(() => undefined);
  }
}

/**
 * Writes the logs of all runs of the process in group commits: one is under way at a time, and what is appended meanwhile
 * goes with the next. An envelope that comes when none is under way is committed at once.
 */
export class LogWriter {
  #next: Commit | undefined;
  #current: Commit | undefined;
  #waitingLength = 0;

  /**
   * @param database where the log is kept
   * @param fence called at the beginning of each commit: throws if other processes have taken this one for lost;
   * undefined where there are no others
   * @param onCommitted called for each run of which something was committed
   */
  constructor(
    private readonly database: Database,
    private readonly fence: ((db: Db) => Promise<void>) | undefined,
    private readonly onCommitted: (run: LiveRun) => void,
  ) {}

  /** Adds an envelope. The promise resolves when it is committed; it rejects if that, and all that follows, is lost. */
  append(run: LiveRun, envelope: string): Promise<void> {
    if (
      run.waitingLength + envelope.length > RUN_WAITING_LENGTH ||
      this.#waitingLength + envelope.length > WAITING_LENGTH
    ) {
      return Promise.reject(
        new QueryError('unavailable', 'The run was ended: its answer came faster than it could be recorded.'),
      );
    }
    run.waiting.push(envelope);
    run.waitingLength += envelope.length;
    this.#waitingLength += envelope.length;
    this.#next ??= new Commit();
    this.#next.runs.add(run);
    if (!this.#current) void this.#write();
    return this.#next.done;
  }

  /** Waits until nothing of a run is waiting. */
  async settled(run: LiveRun): Promise<void> {
    for (;;) {
      const commit = [this.#current, this.#next].find((it) => it?.runs.has(run));
      if (!commit) return;
      await commit.done.catch(() => undefined);
    }
  }

  async #write(): Promise<void> {
    while (this.#next) {
      // Marked first, so that what comes in this very turn goes along, and starts no second writer.
      const commit = (this.#current = this.#next);
      await Promise.resolve();
      this.#next = undefined;
      await this.#commit(commit);
      this.#current = undefined;
    }
  }

  async #commit(commit: Commit): Promise<void> {
    const taken = [...commit.runs].map((run) => ({ run, envelopes: this.#take(run) }));
    const rows = taken.flatMap(({ run, envelopes }) => stretchesOf(run, envelopes));
    try {
      await this.#insert(rows);
    } catch (error) {
      for (const { run } of taken) this.#lose(run);
      return commit.reject(error);
    }
    for (const { run, envelopes } of taken) {
      for (const envelope of envelopes) run.tail.append(envelope);
      this.onCommitted(run);
    }
    commit.resolve();
  }

  #insert(rows: Stretch[]): Promise<void> {
    const { fence } = this;
    if (!fence && rows.length <= ROWS)
      return this.database.persistStatement((db) => insertStretches(db, rows));
    return this.database.persistTransaction(async (db) => {
      await fence?.(db);
      await insertStretches(db, rows);
    });
  }

  #take(run: LiveRun): string[] {
    const envelopes = run.waiting;
    this.#waitingLength -= run.waitingLength;
    run.waiting = [];
    run.waitingLength = 0;
    return envelopes;
  }

  /** A log has no holes: where something could not be written, nothing follows. */
  #lose(run: LiveRun): void {
    this.#take(run);
    run.isLost = true;
  }
}

/** Rows for what follows a run's committed log. */
function stretchesOf(run: LiveRun, envelopes: string[]): Stretch[] {
  const stretches: Stretch[] = [];
  let last = run.tail.last;
  let position = run.position;
  let texts: string[] = [];
  let start = position;
  const close = () => {
    if (texts.length === 0) return;
    const first = last - texts.length + 1;
    stretches.push({ run_id: run.id, first, last, start, position, envelopes: texts.join('\n') });
    texts = [];
    start = position;
  };
  for (const envelope of envelopes) {
    texts.push(envelope);
    last++;
    position += envelope.length;
    if (position - start >= STRETCH_LENGTH) close();
  }
  close();
  return stretches;
}

/** Inserts stretches; those that an attempt before has brought in already are left as they are. */
export async function insertStretches(db: Db, rows: Stretch[]): Promise<void> {
  for (let i = 0; i < rows.length; i += ROWS) {
    await db
      .insertInto('log')
      .values(rows.slice(i, i + ROWS))
      .onConflict((conflict) => conflict.columns(['run_id', 'last']).doNothing())
      .execute();
  }
}
