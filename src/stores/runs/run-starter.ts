import { Logger } from '@nestjs/common';
import { type Admission, type Admitted, QueryError, type RunRecord } from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import type { Db } from '../schema/tables.js';
import { admit, type Admitting, needsOnlyRun, startedAlone, undoAdmission } from './admit.js';
import { startWaiting } from './attempts.js';
import { Batches } from './batches.js';
import type { Lease } from './lease.js';
import { LocalRun, type LocalRuns } from './local-runs.js';
import { OneByOne } from './one-by-one.js';
import type { OwnerLimits } from './owner-limits.js';
import { ownerRefOf } from './owner-queue.js';
import { insertRuns, type RunToInsert } from './run-rows.js';
import { type WrittenQuery, writtenQuery } from './stored-query.js';

/** Admits queries, and starts runs in this process: with their admission, or later. */
export class RunStarter {
  /** The admissions that are under way, by run. One that has failed is here until it is undone. */
  readonly #admitting = new Map<string, Promise<Admitted>>();
  readonly #inTurn = new OneByOne();
  /** How many calls of `take` are under way. */
  #taking = 0;
  /** Admits the queries for which only a run is written. */
  readonly #insertions: Batches<RunToInsert, undefined>;

  /** @param renewLate makes sure that the lease is valid; see `Recovery` */
  constructor(
    private readonly database: Database,
    private readonly lease: Lease,
    private readonly localRuns: LocalRuns,
    private readonly limits: OwnerLimits,
    private readonly renewLate: () => Promise<void>,
  ) {
    const insert = async (rows: RunToInsert[]) => {
      await database.attemptAtOnce((db) => insertRuns(db, database.driver, rows));
      return rows.map(() => undefined);
    };
    this.#insertions = new Batches(insert, ({ parts, kwargs }) => parts!.length + kwargs!.length);
  }

  /** Whether the database may have started this run, and this process has not heard of it yet. */
  isStarting(runId: string): boolean {
    return this.#taking > 0 || this.#admitting.has(runId);
  }

  async admit(admission: Admission): Promise<Admitted> {
    const { runId } = admission;
    const admitting = this.#admit(admission);
    this.#admitting.set(runId, admitting);
    const settle = () => void this.#admitting.delete(runId);
    const admitted = await admitting.catch((error: unknown) => {
      // The transaction may have been committed. Its run would block the queue of its session forever.
      const wasTried = error instanceof QueryError && error.cause !== undefined;
      if (wasTried) void this.#undo(admission).finally(settle);
      else settle();
      throw error;
    });
    settle();
    // A repeated query must not find a run whose admission is going to be undone.
    if (!admitted.created) await this.#admitting.get(admitted.run.id);
    return admitted;
  }

  async take(count: number, module: string): Promise<RunRecord[]> {
    this.#taking++;
    try {
      await this.renewLate();
      const { processId } = this.lease;
      const { driver } = this.database;
      const started = await this.database.attemptAtOnce((db) =>
        startWaiting(db, driver, processId, module, count, this.database.now()),
      );
      for (const { run, endOffset } of started)
        this.localRuns.add(new LocalRun(run, module, processId, endOffset));
      return started.map(({ run }) => run);
    } finally {
      this.#taking--;
    }
  }

  async #admit(admission: Admission): Promise<Admitted> {
    const query = await writtenQuery(admission);
    await this.renewLate();
    const admitting = this.#admittingOf(admission);
    const started = await this.#admitAlone(admitting, admission, query);
    if (!started) this.limits.mayWait(ownerRefOf(admission.owner, admission.module ?? ''));
    const admitted = started ?? (await this.#admitInTurn(admitting, admission, query));
    const { run, created } = admitted;
    if (!created || run.status !== 'running') return admitted;
    const { process } = admitting;
    const local = new LocalRun({ ...run, lastSeq: 0 }, admission.module ?? '', process, 0);
    for (const notice of admission.notices(undefined)) local.tail.append(notice);
    this.localRuns.add(local);
    return admitted;
  }

  /** An owner that sends many queries at once must not keep the others from the database. */
  #admitInTurn(admitting: Admitting, admission: Admission, query: WrittenQuery): Promise<Admitted> {
    const { driver } = this.database;
    const admitIt = () =>
      this.database.attemptTransaction((db) => admit(db, driver, admitting, admission, query));
    const lock = driver.isShared ? longestLock(admission, admitting) : undefined;
    return lock === undefined ? admitIt() : this.#inTurn.do(lock, admitIt);
  }

  #admittingOf({ module = '' }: Admission): Admitting {
    const limit = this.limits.of(module) ?? Infinity;
    return { process: this.lease.processId, now: this.database.now(), limit };
  }

  /** Undefined if there is more to do than to insert the run, or if its owner is at the limit. */
  async #admitAlone(
    admitting: Admitting,
    admission: Admission,
    query: WrittenQuery,
  ): Promise<Admitted | undefined> {
    if (!needsOnlyRun(admission)) return undefined;
    const { run, row } = startedAlone(admitting, admission, query);
    const { limit } = admitting;
    if (limit === Infinity) await this.#insertions.add(row);
    else if (!(await this.limits.start({ row, limit }))) return undefined;
    return { run, created: true, ahead: [] };
  }

  /** Undoes an admission that may have been committed, as soon as the database can be used. Never rejects. */
  async #undo(admission: Admission): Promise<void> {
    const { runId } = admission;
    const { driver } = this.database;
    const { process } = this.#admittingOf(admission);
    const undo = (db: Db) =>
      undoAdmission(db, driver, { ...this.#admittingOf(admission), process }, admission);
    try {
      if (await this.database.persistTransaction(undo)) driver.signals.send({ type: 'ready' });
    } catch (error) {
      // The store was closed during an outage, which was logged.
      if (error instanceof QueryError) return;
      new Logger('RunStarter').error(
        `The admission of run ${runId} cannot be undone.`,
        (error as Error).stack,
      );
    }
  }
}

/** For what an admission waits in the database while others of the same owner are under way; undefined if for nothing. */
function longestLock({ owner, session, mayStart }: Admission, { limit }: Admitting): string | undefined {
  if (!mayStart || limit !== Infinity) return JSON.stringify([owner]);
  return session && JSON.stringify([owner, session.id]);
}
