import { setTimeout as delay } from 'node:timers/promises';
import { dayOf, QueryError, type RunEnd, type Used } from '../../query/index.js';
import { type Database, DatabaseUnavailable } from '../drivers/database.js';
import { Commit, rowsOf } from './commit.js';
import { Journal } from './journal.js';
import type { LocalRun, Waiting } from './local-run.js';
import { writeCommit, type Written } from './log-commit.js';
import type { NewRun } from '../rows/new-runs.js';
import type { Outbox } from '../rows/outbox.js';
import { withUsed } from '../rows/usage-rows.js';

/**
 * How many characters of all runs may wait for their commit. An envelope that exceeds them is refused, and its run fails. The
 * service limits those of one run.
 */
const WAITING_LENGTH = 256 * 1024 * 1024;

/**
 * Behind a commit of so many runs the next one waits a millisecond, and longer behind more. To write a thousand runs takes so long
 * that new envelopes of most of them come meanwhile. A commit that begins at once has one envelope of each; a moment later it has
 * several of some, which share its cost and leave in one write.
 */
const RUNS_PER_MS = 200;

/**
 * Writes the logs of all runs of the process in group commits. One commit is in progress at a time; what is appended
 * during it belongs to the next one. An envelope that arrives while no commit is in progress is committed at once, unless the last
 * commit had hundreds of runs (`RUNS_PER_MS`).
 */
export class LogWriter {
  /** Of a file. */
  readonly #journal: Journal | undefined;
  #next: Commit | undefined;
  #current: Commit | undefined;

  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
    private readonly onCommitted: (run: LocalRun) => void,
  ) {
    const { journal } = database.driver;
    if (journal) this.#journal = new Journal(journal);
    database.onOutage = () => this.#refuseNext();
  }

  /** Resolves when the envelope is committed; rejects if it, and with it the rest of the log, cannot be written. */
  append(run: LocalRun, envelope: string, used?: Used): Promise<void> {
    if ((this.#next?.length ?? 0) + envelope.length > WAITING_LENGTH) {
      const detail = 'The run was stopped, because its answer came faster than it could be stored.';
      return Promise.reject(new QueryError('answer_too_fast', detail));
    }
    const next = this.#begin();
    next.length += envelope.length;
    const waiting = next.append(run, envelope);
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
    while (run.waiting) await run.waiting.done.catch(() => undefined);
    return this.moved(run);
  }

  /** Resolves when the table `log` has all that was committed of a run. Undefined if it has all. */
  moved(run: LocalRun): Promise<void> | undefined {
    if (!run.journaled) return undefined;
    const next = this.#begin();
    next.of(run).isMoved = true;
    return next.done;
  }

  /** Empties the journal. */
  async moveAll(): Promise<void> {
    if (this.database.driver.journal?.isEmpty ?? true) return;
    const next = this.#begin();
    next.isWhole = true;
    await next.done;
  }

  /** Returns the commit of what is appended now. It begins in this tick, or after the one in progress and its pause. */
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
      const pauseMs = commit.runs.length / RUNS_PER_MS;
      if (pauseMs >= 1) await delay(pauseMs);
      this.#current = undefined;
    }
  }

  async #commit(commit: Commit): Promise<void> {
    commit.day = dayOf(this.database.now());
    try {
      commit.ended = await this.#write(commit, commit.runs);
    } catch (error) {
      this.#closeLogs(commit.runs);
      return commit.reject(error);
    }
    for (const waiting of commit.runs) {
      const { run } = waiting;
      if (run.waiting === waiting) run.waiting = undefined;
      if (run.isLost) continue;
      if (waiting.used) run.usage = withUsed(run.usage, waiting.used, commit.day);
      for (const envelope of waiting.envelopes) run.tail.append(envelope);
      this.onCommitted(run);
    }
    commit.resolve();
  }

  /** Writes what belongs to runs that this process still owns. Returns the runs that were ended; see `Written`. */
  async #write(commit: Commit, taken: Waiting[]): Promise<Map<string, boolean>> {
    if (taken.length === 0 && !commit.isWhole) return new Map();
    const leases = [...new Set(taken.map(({ run }) => run.process))];
    const move = this.#journal?.plan(taken, commit.isWhole);
    const rows = rowsOf(taken, commit.day, move, this.outbox);
    let written: Written;
    try {
      written = await writeCommit(this.database, leases, rows);
    } catch (error) {
      if (rows.runs.length === 0) throw error;
      return this.#writeWithoutNew(commit, taken, error);
    }
    const { expired, ended } = written;
    if (expired.length === 0) {
      if (move) this.#journal!.written(move);
      if (commit.isWhole) await this.database.persist(() => this.database.driver.journal!.clear());
      return ended;
    }
    this.#lose(
      taken.filter(({ run }) => expired.includes(run.process)),
      new DatabaseUnavailable(),
    );
    const owned = taken.filter(({ run }) => !run.isLost);
    if (owned.length > 0) return this.#write(commit, owned);
    const detail = 'The service lost the run to another process. Follow the run to see how it goes on.';
    throw new QueryError('interrupted', detail);
  }

  /** Refuses the new runs, whose callers can try again. The others wait for the end of an outage. */
  #writeWithoutNew(commit: Commit, taken: Waiting[], error: unknown) {
    this.#lose(
      taken.filter(({ inserted }) => inserted),
      error,
    );
    return this.#write(
      commit,
      taken.filter(({ run }) => !run.isLost),
    );
  }

  /** Refuses the new runs behind a commit that waits for the end of an outage. */
  #refuseNext(): void {
    const behind = this.#next?.runs.filter(({ inserted }) => inserted) ?? [];
    this.#lose(behind, new DatabaseUnavailable());
  }

  #lose(lost: Waiting[], error: unknown): void {
    this.#closeLogs(lost);
    for (const { run, inserted } of lost) {
      run.isLost = true;
      inserted?.refuse(error);
    }
  }

  /** Makes runs unwritable. A log has no gaps: after an envelope that could not be written, none may follow. */
  #closeLogs(taken: Waiting[]): void {
    const closed = new Set(taken.map(({ run }) => run));
    for (const run of closed) {
      run.waiting = undefined;
      run.isUnwritable = true;
    }
    if (this.#next) this.#next.runs = this.#next.runs.filter(({ run }) => !closed.has(run));
  }
}
