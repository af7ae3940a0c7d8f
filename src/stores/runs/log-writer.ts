import { QueryError, type RunEnd } from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import type { Db } from '../schema/tables.js';
import type { LocalRun } from './local-runs.js';
import { endingOf, type LogCommit, type RunEnding, writeAtOnce, writeUnder } from './log-commit.js';
import { insertSegments, type Segment, segmentsOf, statementsOf } from './segments.js';

/**
 * How many characters of all runs may wait for their commit. An envelope that exceeds them is refused, and its run fails. The
 * service limits those of one run.
 */
const WAITING_LENGTH = 256 * 1024 * 1024;

/** The next commit. All envelopes that are appended before it begins share one promise. */
class Commit {
  readonly runs = new Set<LocalRun>();
  readonly done: Promise<void>;
  resolve!: () => void;
  reject!: (error: unknown) => void;

  constructor() {
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    // A caller need not wait for what it appends. The rejection must not count as unhandled then.
    this.done.catch(() => undefined);
  }
}

/** What a commit writes of a run. */
interface Taken {
  run: LocalRun;
  envelopes: string[];
  checkpoint: LocalRun['checkpoint'];
  waitingEnd: LocalRun['waitingEnd'];
}

/**
 * Writes the logs of all runs of the process in group commits. One commit is in progress at a time; what is appended
 * during it belongs to the next one. An envelope that arrives while no commit is in progress is committed at once.
 */
export class LogWriter {
  #next: Commit | undefined;
  #current: Commit | undefined;
  #waitingLength = 0;

  /**
   * @param fence called at the beginning of a transaction with the ids under which this process has started the runs; returns
   * those that are not valid any more. Undefined if no other process uses the database
   * @param onCommitted called for each run of a commit, after it
   */
  constructor(
    private readonly database: Database,
    private readonly fence: ((db: Db, processes: string[]) => Promise<string[]>) | undefined,
    private readonly onCommitted: (run: LocalRun) => void,
  ) {}

  /**
   * Appends an envelope.
   *
   * @returns resolves when the envelope is committed; rejects if it, and with it the rest of the log, cannot be written
   */
  append(run: LocalRun, envelope: string): Promise<void> {
    if (this.#waitingLength + envelope.length > WAITING_LENGTH) {
      const detail = 'The run was stopped, because its answer came faster than it could be stored.';
      return Promise.reject(new QueryError('answer_too_fast', detail));
    }
    run.waiting.push(envelope);
    run.waitingLength += envelope.length;
    this.#waitingLength += envelope.length;
    return this.#join(run);
  }

  /**
   * Stores the state of a handler in the commit of everything that was appended before.
   *
   * @returns resolves when the state is committed; rejects if it cannot be written
   */
  checkpoint(run: LocalRun, state: string): Promise<void> {
    run.checkpoint = { state, after: run.waiting.length };
    return this.#join(run);
  }

  /**
   * Ends a run that has no session in the commit of everything that was appended before.
   *
   * @returns whether it was ended. If not, it is not in the state that this requires, or its lease has ended; the log is
   * committed
   * @throws the error of the commit
   */
  async end(run: LocalRun, end: RunEnd, endedAt: number): Promise<boolean> {
    const waitingEnd = (run.waitingEnd = { end, endedAt, isEnded: false });
    await this.#join(run);
    return waitingEnd.isEnded;
  }

  /** Resolves when no envelope of a run waits for its commit. */
  async settled(run: LocalRun): Promise<void> {
    for (;;) {
      const commit = [this.#current, this.#next].find((it) => it?.runs.has(run));
      if (!commit) return;
      await commit.done.catch(() => undefined);
    }
  }

  #join(run: LocalRun): Promise<void> {
    this.#next ??= new Commit();
    this.#next.runs.add(run);
    const { done } = this.#next;
    if (!this.#current) void this.#commitAll();
    return done;
  }

  async #commitAll(): Promise<void> {
    while (this.#next) {
      // `#current` is set before the wait, so that what else comes in this tick joins the commit, such as the end of a run
      // that has just sent its last envelope, and none of it starts a second loop.
      const commit = (this.#current = this.#next);
      await new Promise<void>((resolve) => process.nextTick(resolve));
      this.#next = undefined;
      await this.#commit(commit);
      this.#current = undefined;
    }
  }

  async #commit(commit: Commit): Promise<void> {
    const taken = [...commit.runs].map((run) => ({ run, ...this.#takeWaiting(run) }));
    try {
      await this.#write(taken);
    } catch (error) {
      for (const { run } of taken) this.#closeLog(run);
      return commit.reject(error);
    }
    for (const { run, envelopes } of taken.filter((it) => !it.run.isLost)) {
      for (const envelope of envelopes) run.tail.append(envelope);
      this.onCommitted(run);
    }
    commit.resolve();
  }

  async #write(taken: Taken[]): Promise<void> {
    const commit = commitOf(taken);
    const hasState = taken.some(({ checkpoint }) => checkpoint !== undefined);
    if (commit.segments.length === 0 && commit.endings.length === 0 && !hasState) return;
    const { expired, ended } = await this.#writeCommit(commit, taken, hasState);
    for (const { run, waitingEnd } of taken) if (waitingEnd) waitingEnd.isEnded = ended.has(run.id);
    if (expired.length > 0) await this.#writeOwned(taken, expired);
  }

  /** Returns the leases that have ended, and the runs that were ended. If a lease has ended, nothing was written. */
  async #writeCommit(
    commit: LogCommit,
    taken: Taken[],
    hasState: boolean,
  ): Promise<{ expired: string[]; ended: Set<string> }> {
    const { database, fence } = this;
    const { driver } = database;
    const leases = [...new Set(taken.map(({ run }) => run.process))];
    const isSmall = statementsOf(commit.segments).length <= 1;
    if (!hasState && !fence) {
      return { expired: [], ended: await database.persistAtOnce((db) => writeAtOnce(db, driver, commit)) };
    }
    if (!hasState && isSmall) return database.persistAtOnce((db) => writeUnder(db, leases, commit));

    return database.persistTransaction(async (db) => {
      const expired = (await fence?.(db, leases)) ?? [];
      if (expired.length > 0) return { expired, ended: new Set<string>() };
      await insertSegments(db, driver, commit.segments);
      for (const { run, checkpoint } of taken) {
        if (checkpoint) await storeCheckpoint(db, run, run.lastSeq + checkpoint.after, checkpoint.state);
      }
      const rest = { segments: [], endings: commit.endings };
      return fence ? writeUnder(db, leases, rest) : { expired, ended: await writeAtOnce(db, driver, rest) };
    });
  }

  /** Writes what belongs to runs that this process still owns. */
  async #writeOwned(taken: Taken[], expired: string[]): Promise<void> {
    for (const { run } of taken) {
      if (!expired.includes(run.process)) continue;
      run.isLost = true;
      this.#closeLog(run);
    }
    const owned = taken.filter(({ run }) => !run.isLost);
    if (owned.length === 0) throw leaseEnded();
    await this.#write(owned);
  }

  #takeWaiting(run: LocalRun): Omit<Taken, 'run'> {
    const { waiting: envelopes, checkpoint, waitingEnd } = run;
    this.#waitingLength -= run.waitingLength;
    run.waiting = [];
    run.waitingLength = 0;
    run.checkpoint = undefined;
    run.waitingEnd = undefined;
    return { envelopes, checkpoint, waitingEnd };
  }

  /** Makes a run unwritable. A log has no gaps: after an envelope that could not be written, none may follow. */
  #closeLog(run: LocalRun): void {
    this.#takeWaiting(run);
    run.isUnwritable = true;
  }
}

/** What is to be written: the envelopes as segments, and behind them the ends. */
function commitOf(taken: Taken[]): LogCommit {
  const segments: Segment[] = [];
  const endings: RunEnding[] = [];
  for (const { run, envelopes, waitingEnd } of taken) {
    const own = segmentsOf(run, envelopes);
    segments.push(...own);
    if (!waitingEnd) continue;
    const { last, endOffset, length } = run.logExtent;
    const added = (own.at(-1)?.end_offset ?? endOffset) - endOffset;
    const log = { last: last + envelopes.length, endOffset: endOffset + added, length: length + added };
    endings.push(endingOf(run, log, waitingEnd.end, waitingEnd.endedAt));
  }
  return { segments, endings };
}

async function storeCheckpoint(db: Db, run: LocalRun, seq: number, state: string): Promise<void> {
  await db
    .updateTable('runs')
    .set({ checkpoint: state, checkpoint_seq: seq })
    .where('id', '=', run.id)
    .where('process', '=', run.process)
    .where('attempt', '=', run.attempt)
    .execute();
}

function leaseEnded(): QueryError {
  const detail = 'The service lost the run to another process. Follow the run to see how it goes on.';
  return new QueryError('interrupted', detail);
}
