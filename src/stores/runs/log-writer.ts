import { dayOf, QueryError, type RunEnd, type Used } from '../../query/index.js';
import { type Database, DatabaseUnavailable } from '../drivers/database.js';
import type { LocalRun } from './local-runs.js';
import { Journal } from './journal.js';
import { type LogCommit, writeCommit, type Written } from './log-commit.js';
import { endedRun, type NewRun } from './new-runs.js';
import type { Outbox } from './outbox.js';
import { endingOf } from './run-changes.js';
import { segmentsOf } from './segments.js';
import { type RunUsage, withUsed } from './usage-rows.js';

/**
 * How many characters of all runs may wait for their commit. An envelope that exceeds them is refused, and its run fails. The
 * service limits those of one run.
 */
const WAITING_LENGTH = 256 * 1024 * 1024;

interface Waiting {
  /** The run, if the database does not have it yet, and what rejects its admission. */
  inserted?: { row: NewRun; refuse: (error: unknown) => void };
  readonly envelopes: string[];
  /** What some of these envelopes tell. */
  used?: Used[];
  /** What the run has used with these envelopes, if they tell something. */
  usage?: RunUsage[];
  /** The state of the handler as JSON, and how many of these envelopes are before it. */
  checkpoint?: { state: string; after: number };
  /** The end of the run, behind these envelopes. */
  ending?: { end: RunEnd; endedAt: number };
  /** Nothing of the run may stay in the journal. */
  isMoved?: true;
}

/** All envelopes that are appended before a commit begins share one promise. */
class Commit {
  readonly runs = new Map<LocalRun, Waiting>();
  /** Nothing of any run may stay in the journal. */
  isWhole = false;
  /** What has become of the endings; see `Written`. */
  ended = new Map<string, boolean>();
  /** The length of all envelopes, in characters. */
  length = 0;
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

  of(run: LocalRun): Waiting {
    let waiting = this.runs.get(run);
    if (!waiting) this.runs.set(run, (waiting = { envelopes: [] }));
    return waiting;
  }
}

/**
 * Writes the logs of all runs of the process in group commits. One commit is in progress at a time; what is appended
 * during it belongs to the next one. An envelope that arrives while no commit is in progress is committed at once.
 */
export class LogWriter {
  readonly #journal = new Journal();
  #next: Commit | undefined;
  #current: Commit | undefined;

  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
    private readonly onCommitted: (run: LocalRun) => void,
  ) {}

  /** Resolves when the envelope is committed; rejects if it, and with it the rest of the log, cannot be written. */
  append(run: LocalRun, envelope: string, used?: Used): Promise<void> {
    if ((this.#next?.length ?? 0) + envelope.length > WAITING_LENGTH) {
      const detail = 'The run was stopped, because its answer came faster than it could be stored.';
      return Promise.reject(new QueryError('answer_too_fast', detail));
    }
    const next = this.#begin();
    next.length += envelope.length;
    const waiting = next.of(run);
    waiting.envelopes.push(envelope);
    if (used) (waiting.used ??= []).push(used);
    return next.done;
  }

  /**
   * Stores a new run, in the commit of what is appended to it in this tick.
   *
   * @throws {QueryError} `unavailable`: the database cannot be used at present. Then nothing of the run is written any more
   */
  insert(run: LocalRun, row: NewRun): Promise<void> {
    const next = this.#begin();
    return new Promise((resolve, refuse) => {
      next.of(run).inserted = { row, refuse };
      next.done.then(resolve, refuse);
    });
  }

  /** Stores the state of a handler in the commit of everything that was appended before. */
  checkpoint(run: LocalRun, state: string): Promise<void> {
    const next = this.#begin();
    const waiting = next.of(run);
    waiting.checkpoint = { state, after: waiting.envelopes.length };
    return next.done;
  }

  /**
   * Ends a run that has no session in the commit of everything that was appended before.
   *
   * @returns whether deferred runs of its owner may take its place; undefined if it was not ended. See `Written`
   */
  async end(run: LocalRun, end: RunEnd, endedAt: number): Promise<boolean | undefined> {
    const next = this.#begin();
    next.of(run).ending = { end, endedAt };
    await next.done;
    return next.ended.get(run.id);
  }

  /** Resolves when no envelope of a run waits for its commit, and the table `log` has all of them. */
  async settled(run: LocalRun): Promise<void> {
    for (;;) {
      const commit = [this.#current, this.#next].find((it) => it?.runs.has(run));
      if (!commit) return this.moved(run);
      await commit.done.catch(() => undefined);
    }
  }

  /** Resolves when the table `log` has all that was committed of a run. Undefined if it has all. */
  moved(run: LocalRun): Promise<void> | undefined {
    if (!this.#journal.has(run.id)) return undefined;
    const next = this.#begin();
    next.of(run).isMoved = true;
    return next.done;
  }

  /** Empties the journal. */
  async moveAll(): Promise<void> {
    if (this.#journal.isEmpty) return;
    const next = this.#begin();
    next.isWhole = true;
    await next.done;
  }

  /** Returns the commit of what is appended now. It begins in this tick, or after the one in progress. */
  #begin(): Commit {
    const next = (this.#next ??= new Commit());
    if (!this.#current) void this.#commitAll();
    return next;
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
    const today = dayOf(this.database.now());
    for (const [run, waiting] of commit.runs)
      if (waiting.used) waiting.usage = withUsed(run.usage, waiting.used, today);
    try {
      commit.ended = await this.#write([...commit.runs], commit.isWhole);
    } catch (error) {
      for (const run of commit.runs.keys()) this.#closeLog(run);
      return commit.reject(error);
    }
    for (const [run, { envelopes, usage }] of commit.runs) {
      if (run.isLost) continue;
      if (usage) run.usage = usage;
      for (const envelope of envelopes) run.tail.append(envelope);
      this.onCommitted(run);
    }
    commit.resolve();
  }

  /** Writes what belongs to runs that this process still owns. Returns the runs that were ended; see `Written`. */
  async #write(taken: [LocalRun, Waiting][], isWhole: boolean): Promise<Map<string, boolean>> {
    if (taken.length === 0 && !isWhole) return new Map();
    const leases = [...new Set(taken.map(([run]) => run.process))];
    const ids = taken.flatMap(([{ id }, { isMoved }]) => (isMoved || isWhole ? [id] : []));
    const whole = isWhole ? [...ids, ...this.#journal.runIds] : ids;
    const commit = { ...commitOf(taken, this.outbox), journal: this.#journal, whole };
    let written: Written;
    try {
      written = await writeCommit(this.database, leases, commit);
    } catch (error) {
      if (commit.runs.length === 0) throw error;
      return this.#writeWithoutNew(taken, isWhole, error);
    }
    const { expired, ended } = written;
    if (expired.length === 0) return ended;
    for (const [run, { inserted }] of taken) {
      if (!expired.includes(run.process)) continue;
      this.#lose(run);
      inserted?.refuse(new DatabaseUnavailable());
    }
    const owned = taken.filter(([run]) => !run.isLost);
    if (owned.length > 0) return this.#write(owned, isWhole);
    const detail = 'The service lost the run to another process. Follow the run to see how it goes on.';
    throw new QueryError('interrupted', detail);
  }

  /** Refuses the new runs, whose callers can try again. The others wait for the end of an outage. */
  #writeWithoutNew(taken: [LocalRun, Waiting][], isWhole: boolean, error: unknown) {
    for (const [run, { inserted }] of taken) {
      if (!inserted) continue;
      this.#lose(run);
      inserted.refuse(error);
    }
    return this.#write(
      taken.filter(([run]) => !run.isLost),
      isWhole,
    );
  }

  #lose(run: LocalRun): void {
    run.isLost = true;
    this.#closeLog(run);
  }

  /** Makes a run unwritable. A log has no gaps: after an envelope that could not be written, none may follow. */
  #closeLog(run: LocalRun): void {
    this.#next?.runs.delete(run);
    run.isUnwritable = true;
  }
}

/** What is to be written: the envelopes as segments, and behind them the ends. */
function commitOf(taken: [LocalRun, Waiting][], outbox: Outbox) {
  const commit: Omit<LogCommit, 'journal' | 'whole'> = {
    runs: [],
    segments: [],
    checkpoints: [],
    usage: [],
    endings: [],
    deliveries: [],
  };
  for (const [run, { inserted, envelopes, checkpoint, usage: all, ending }] of taken) {
    const { id, process, attempt } = run;
    const usage = all && JSON.stringify(all);
    const { last, endOffset, length } = run.logExtent;
    const segments = segmentsOf(run.id, run.logExtent, envelopes);
    commit.segments.push(...segments);
    if (ending) {
      const added = (segments.at(-1)?.end_offset ?? endOffset) - endOffset;
      const log = { last: last + envelopes.length, endOffset: endOffset + added, length: length + added };
      const row = endingOf(run, log, ending.end, ending.endedAt, usage);
      if (inserted) {
        commit.runs.push(endedRun(inserted.row, row));
        commit.segments.push(row);
      } else commit.endings.push(row);
      const { status } = ending.end;
      const event = { runId: run.id, status, seq: log.last + 1, at: ending.endedAt };
      commit.deliveries.push(...outbox.rowsOf(run.module, event));
      continue;
    }
    if (inserted) commit.runs.push({ ...inserted.row, usage: usage ?? null });
    else if (usage !== undefined) commit.usage.push({ run_id: id, process, attempt, usage });
    if (checkpoint) {
      const { state, after } = checkpoint;
      commit.checkpoints.push({ id, process, attempt, state, seq: last + after });
    }
  }
  return commit;
}
