import { Logger } from '@nestjs/common';
import { INTERRUPTED, QueryError, type RunRecord, type StoredRun } from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import { undoAdmission } from './admit.js';
import { finish } from './finish.js';
import type { Lease } from './lease.js';
import { LocalRun } from './local-run.js';
import type { LocalRuns } from './local-runs.js';
import { readAnswerText } from './read-log.js';
import { recordOf, selectRuns } from './run-rows.js';
import { readLogExtent } from './segments.js';
import { isFirstInQueue } from './session-queue.js';
import { restoreParts } from './texts.js';

/** How many orphaned runs one statement selects. */
const BATCH = 100;
/** How many heartbeats a process sends in the time of a lease. */
const HEARTBEATS = 4;

/**
 * Recovers orphaned runs: it ends those that were executing as `interrupted`, and adopts those that were waiting. It also
 * promotes runs of this process that wait behind runs of other processes. `Lease` describes who owns a run.
 *
 * On a shared database, it does this with each heartbeat; on a file, only once, when the store is opened.
 */
export class Recovery {
  #timer: NodeJS.Timeout | undefined;
  #execute: (stored: StoredRun) => void = () => undefined;
  #round: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(
    private readonly database: Database,
    private readonly processId: string,
    private readonly lease: Lease,
    private readonly localRuns: LocalRuns,
  ) {}

  /**
   * Acquires the lease and recovers the runs that are orphaned now.
   *
   * @param execute called for each run that this process adopts or promotes; see `RunStore.recover`
   */
  async start(execute: (stored: StoredRun) => void): Promise<void> {
    this.#execute = execute;
    await this.lease.acquire();
    await this.#recoverOrphaned();
    if (this.database.driver.isShared) this.#schedule();
  }

  /** Ends the lease. Other processes adopt the waiting runs of this process then. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#round;
    await this.lease.release();
  }

  /** Undoes an admission that may have been committed, as soon as the database can be used. Never rejects. */
  undoAdmission(runId: string): Promise<void> {
    return this.database
      .persistTransaction((db) => undoAdmission(db, this.database.driver, this.processId, runId))
      .then((next) => next && this.#promote(next.id))
      .catch((error: unknown) => this.#report(error));
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.#round = this.#runRound()
        .catch((error: unknown) => this.#report(error))
        .finally(() => this.#schedule());
    }, this.lease.leaseMs / HEARTBEATS);
    this.#timer.unref();
  }

  async #runRound(): Promise<void> {
    const isOurs = await this.lease.renew();
    if (!isOurs) {
      // The order matters: with a new lease, the fence lets commits pass again.
      this.localRuns.disown();
      await this.lease.acquire();
    }
    await this.lease.expireOthers();
    await this.#recoverOrphaned();
    for (const { id } of this.localRuns.queued()) if (await this.#isFirst(id)) await this.#promote(id);
  }

  #report(error: unknown): void {
    this.lease.forgetOthers();
    // An outage was logged already.
    if (error instanceof QueryError) return;
    const message = 'The other processes that use the database cannot be observed';
    new Logger('Recovery').error(message, (error as Error).stack);
  }

  async #recoverOrphaned(): Promise<void> {
    for (;;) {
      const rows = await this.database.attempt((db) =>
        selectRuns(db)
          .where('ended_at', 'is', null)
          .where('process', 'not in', db.selectFrom('processes').select('processes.id'))
          .orderBy('created_at')
          .orderBy('queue_position')
          .limit(BATCH)
          .execute(),
      );
      if (rows.length === 0) return;
      const orphaned = rows.map(recordOf);
      // Running runs first: waiting runs of their sessions become first in the queue by that.
      for (const { id, status } of orphaned) if (status === 'running') await this.#interrupt(id);
      for (const run of orphaned) if (run.status === 'waiting') await this.#adopt(run);
    }
  }

  async #interrupt(runId: string): Promise<void> {
    const ending = {
      runId,
      owner: undefined,
      process: undefined,
      log: undefined,
      end: INTERRUPTED,
      endedAt: Date.now(),
      text: await this.database.attempt((db) => readAnswerText(db, runId)),
    };
    const finished = await this.database.attemptTransaction((db) => finish(db, this.database.driver, ending));
    if (finished?.next) await this.#promote(finished.next.id);
  }

  async #adopt(run: RunRecord): Promise<void> {
    const { numUpdatedRows } = await this.database.attempt((db) =>
      db
        .updateTable('runs')
        .set({ process: this.processId })
        .where('id', '=', run.id)
        .where('status', '=', 'waiting')
        .where('process', 'not in', db.selectFrom('processes').select('processes.id'))
        .executeTakeFirst(),
    );
    if (numUpdatedRows === 0n) return;
    const { endOffset } = await this.database.attempt((db) => readLogExtent(db, run.id));
    this.localRuns.add(new LocalRun(run, endOffset));
    const isFirst = await this.#isFirst(run.id);
    if (isFirst) this.localRuns.promote(run.id);
    const stored = await this.#readStored(run.id, isFirst);
    if (stored) this.#execute(stored);
  }

  /** Promotes a run of this process, and executes it. Does nothing if it was promoted before, has ended, or is not ours. */
  async #promote(runId: string): Promise<void> {
    const stored = await this.#readStored(runId, true);
    if (stored && this.localRuns.promote(runId)) this.#execute(stored);
  }

  #isFirst(runId: string): Promise<boolean> {
    return this.database.attempt((db) => isFirstInQueue(db, runId));
  }

  /** Undefined for a run that has ended meanwhile: its query is no longer kept. */
  async #readStored(runId: string, isFirst: boolean): Promise<StoredRun | undefined> {
    const row = await this.database.attempt((db) =>
      selectRuns(db)
        .select(['parts', 'kwargs'])
        .where('id', '=', runId)
        .where('ended_at', 'is', null)
        .executeTakeFirst(),
    );
    if (!row) return undefined;
    const cutParts = JSON.parse(row.parts!) as StoredRun['parts'];
    const parts = await this.database.attempt((db) => restoreParts(db, runId, cutParts));
    const kwargs = JSON.parse(row.kwargs!) as StoredRun['kwargs'];
    return { run: recordOf(row), parts, kwargs, isFirst };
  }
}
