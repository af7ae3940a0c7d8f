import { Logger } from '@nestjs/common';
import {
  type Admission,
  type Admitted,
  type LongText,
  QueryError,
  recordOfAdmission,
  type RunRecord,
  stackForLog,
} from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import type { Driver } from '../drivers/driver.js';
import type { Db } from '../schema/tables.js';
import { admit, interruptAdmission, needsOnlyRun, returnAdmitted, undoAdmission } from './admit.js';
import { Batches } from '../rows/batches.js';
import type { Lease } from './lease.js';
import { LocalRun } from './local-run.js';
import type { LocalRuns } from './local-runs.js';
import {
  insertion,
  insertionWithinLimits,
  type LimitedRun,
  type NewRun,
  startedRun,
} from '../rows/new-runs.js';
import type { LogWriter } from './log-writer.js';
import type { Outbox } from '../rows/outbox.js';
import { LOCKED_AT_ONCE, type OwnerLimits } from '../steps/owner-limits.js';
import { lockOwners } from '../rows/queues.js';
import { writtenQuery } from '../rows/stored-query.js';
import { startWaiting } from './start-waiting.js';

const lengthOf = ({ parts, kwargs }: NewRun) => parts!.length + kwargs!.length;

/** A query of more characters is stored before its handler begins: a commit of logs must not become long by queries. */
const LATE_LENGTH = 16 * 1024;

/** Admits queries, and starts runs in this process: with their admission, or later. */
export class RunStarter {
  /** The admissions that are under way, by run. One that has failed is here until it is undone. */
  readonly #admitting = new Map<string, Promise<Admitted>>();
  readonly #inTurn = new OneByOne();
  /** How many calls of `take` are under way. */
  #taking = 0;
  /** Admit the queries for which only a run is written. They tell whether it was inserted. */
  readonly #insertions = new Batches((runs: NewRun[]) => this.#insert(runs), lengthOf);
  readonly #limitedInsertions = new Batches(
    (runs: LimitedRun[]) => this.#insertWithinLimits(runs),
    lengthOf,
    LOCKED_AT_ONCE,
  );

  /** @param renewLate makes sure that the lease is valid; see `Recovery` */
  constructor(
    private readonly database: Database,
    private readonly lease: Lease,
    private readonly localRuns: LocalRuns,
    private readonly writer: LogWriter,
    private readonly limits: OwnerLimits,
    private readonly outbox: Outbox,
    private readonly renewLate: () => Promise<void>,
  ) {}

  /** Whether the database may have started this run, and this process has not heard of it yet. */
  isStarting(runId: string): boolean {
    return this.#taking > 0 || this.#admitting.has(runId);
  }

  async admit(admission: Admission): Promise<Admitted> {
    const { runId } = admission;
    const admitting = this.#admit(admission);
    this.#admitting.set(runId, admitting);
    const settle = () => void this.#admitting.delete(runId);
    const fail = (error: unknown): never => {
      // The transaction may have been committed. Its run would block the queue of its session forever.
      const wasTried = error instanceof QueryError && error.cause !== undefined;
      if (wasTried) void this.#undo(admission).finally(settle);
      else settle();
      throw error;
    };
    const admitted = await admitting.catch(fail);
    if (admitted.stored) return { ...admitted, stored: admitted.stored.then(settle, fail) };
    settle();
    // A repeated query must not find a run whose admission is going to be undone.
    if (!admitted.created) await this.#admitting.get(admitted.run.id);
    return admitted;
  }

  async take(count: number, module: string): Promise<RunRecord[]> {
    this.#taking++;
    try {
      await this.renewLate();
      const { driver } = this.database;
      const start = { process: this.lease.processId, module, count, now: this.database.now() };
      const started = await this.database.attempt((db) => startWaiting(db, driver, start), 'round trip');
      for (const run of started) this.localRuns.add(run);
      return started.map(({ record }) => record);
    } finally {
      this.#taking--;
    }
  }

  async #admit(admission: Admission): Promise<Admitted> {
    const query = await writtenQuery(admission);
    await this.renewLate();
    const limit = this.#limitOf(admission);
    const started = startedRun(admission, query, this.lease.processId, this.database.now(), limit);
    const alone = needsOnlyRun(admission) && {
      run: recordOfAdmission(admission, true, started.created_at),
      created: true,
      ahead: [],
    };
    if (alone && admission.mayStartEarly && limit === Infinity && this.#mayStoreLate(started)) {
      const local = this.#own(alone.run, started);
      return { ...alone, stored: this.#store(local, started) };
    }
    const isInserted = alone && (await this.#insertAlone(started, limit));
    const admitted = isInserted ? alone : await this.#admitInTurn(admission, started, query.texts, limit);
    const { run, created } = admitted;
    if (!created || run.status !== 'running') return admitted;
    const local = this.#own(run, started);
    for (const notice of admission.notices(undefined)) local.tail.append(notice);
    return admitted;
  }

  /** In an outage that is known, no handler begins for a query that is going to be refused. */
  #mayStoreLate(started: NewRun): boolean {
    return this.database.isAvailable && lengthOf(started) <= LATE_LENGTH;
  }

  #own(run: RunRecord, { module, process }: NewRun): LocalRun {
    const local = new LocalRun(run, module, process, { last: 0, endOffset: 0 });
    this.localRuns.add(local);
    return local;
  }

  /** Stores a run whose handler begins meanwhile. Nobody else can know the run before this has resolved. */
  #store(local: LocalRun, started: NewRun): Promise<void> {
    return (local.stored = this.writer.insert(local, started).catch((error: unknown) => {
      this.localRuns.drop(local);
      throw error;
    }));
  }

  #limitOf({ module = '' }: Admission): number {
    return this.limits.of(module) ?? Infinity;
  }

  /** Returns false if the owner is at the limit. */
  #insertAlone(run: NewRun, limit: number): Promise<boolean> {
    if (limit === Infinity) return this.#insertions.add(run);
    return this.#limitedInsertions.add({ ...run, max_active: limit });
  }

  async #insert(runs: NewRun[]): Promise<boolean[]> {
    await this.database.attempt((db) => insertion.execute(db, this.database.driver, runs), 'round trip');
    return runs.map(() => true);
  }

  /** Inserts those of these runs whose owners are below the limit. */
  async #insertWithinLimits(runs: LimitedRun[]): Promise<boolean[]> {
    const { driver } = this.database;
    const insert = (db: Db) => insertionWithinLimits.execute<{ id: string }>(db, driver, runs);
    const inserted = driver.isShared
      ? await this.database.attempt(async (db) => {
          await lockOwners(db, driver, ...runs.map((run) => run.owner_key!));
          return insert(db);
        }, 'transaction')
      : await this.database.attempt(insert, 'round trip');
    const ids = new Set(inserted.map(({ id }) => id));
    return runs.map(({ id }) => ids.has(id));
  }

  /** An owner that sends many queries at once must not keep the others from the database. */
  #admitInTurn(admission: Admission, started: NewRun, texts: LongText[], limit: number): Promise<Admitted> {
    const { driver } = this.database;
    const step = (db: Db) => admit(db, driver, admission, started, texts, limit, this.outbox);
    const admitIt = () => this.database.attempt(step, 'transaction');
    const lock = driver.isShared ? longestLock(admission, limit) : undefined;
    return lock === undefined ? admitIt() : this.#inTurn.do(lock, admitIt);
  }

  /** Undoes an admission that may have been committed, as soon as the database can be used. Never rejects. */
  async #undo(admission: Admission): Promise<void> {
    const { driver } = this.database;
    const { processId } = this.lease;
    const now = this.database.now();
    const undo = undoOf(admission, driver);
    const limit = this.#limitOf(admission);
    const undoIt = (db: Db) => undo(db, driver, admission, processId, now, limit, this.outbox);
    try {
      if (await this.database.persist(undoIt, 'transaction')) driver.signals.send({ type: 'ready' });
    } catch (error) {
      // The store was closed during an outage, which was logged.
      if (error instanceof QueryError) return;
      new Logger('RunStarter').error(
        `The admission of run ${admission.runId} cannot be undone.`,
        stackForLog(error),
      );
    }
  }
}

/** What is done about an admission that was refused, and that the database may have committed. */
function undoOf({ session, idempotency, parts }: Admission, { isShared }: Driver) {
  if (session?.afterTurn !== undefined || session?.replaces !== undefined) return interruptAdmission;
  if (!isShared || !idempotency) return undoAdmission;
  // The files of a query without a session may be in this process alone.
  const mayStartElsewhere = session !== undefined || parts.every(({ type }) => type !== 'file');
  return mayStartElsewhere ? returnAdmitted : interruptAdmission;
}

/** For what an admission waits in the database while others of the same owner are under way; undefined if for nothing. */
function longestLock({ owner, session, mayStart }: Admission, limit: number): string | undefined {
  if (!mayStart || limit !== Infinity) return JSON.stringify([owner]);
  return session && JSON.stringify([owner, session.id]);
}

/**
 * Does work of the same name one after another. Transactions that would wait for one another in the database wait here instead,
 * so that they do not occupy the connections that others need.
 */
class OneByOne {
  readonly #last = new Map<string, Promise<void>>();

  /** @returns what the work returns, when its turn has come */
  do<T>(name: string, work: () => Promise<T>): Promise<T> {
    const done = (this.#last.get(name) ?? Promise.resolve()).then(work);
    const forget = () => {
      if (this.#last.get(name) === settled) this.#last.delete(name);
    };
    const settled: Promise<void> = done.then(forget, forget);
    this.#last.set(name, settled);
    return done;
  }
}
