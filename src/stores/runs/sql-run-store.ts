import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import {
  type Admission,
  type Admitted,
  type LogSlice,
  QueryError,
  type RunEnd,
  type RunRecord,
  type RunRef,
  runNotFound,
  RunStore,
  type StoredRun,
  type Turn,
  type TurnsPage,
} from '../../query/index.js';
import { Database } from '../drivers/database.js';
import type { Driver } from '../drivers/driver.js';
import type { Db } from '../schema/tables.js';
import { DirectoryStorage, TableStorage } from '../files/content-storage.js';
import { Contents } from '../files/contents.js';
import { FileSweeper } from '../files/file-sweeper.js';
import { SqlFileStore } from '../files/sql-file-store.js';
import { admit } from './admit.js';
import { Erasure } from './erasure.js';
import { type Ending, type Finished, finish } from './finish.js';
import { Lease } from './lease.js';
import { LocalRun } from './local-run.js';
import { LocalRuns } from './local-runs.js';
import { LogWriter } from './log-writer.js';
import { readLog } from './read-log.js';
import { Recovery } from './recovery.js';
import { STORED_RETENTION_DEFAULTS, type StoredRetention } from './retention-options.js';
import { isDigest, isRunId, keyOf, recordOf, selectRuns } from './run-rows.js';
import { queueOf } from './session-queue.js';
import { storedQuery } from './stored-query.js';
import { Sweeper } from './sweeper.js';
import { readText } from './texts.js';
import { readTurns } from './turns.js';

const LEASE_MS = 10_000;
const SWEEP_MS = 60_000;

const END_NOT_STORED: RunEnd = {
  status: 'failed',
  error: {
    code: 'internal',
    message:
      'The service could not store the end of the run, and has logged the cause. Send the query again.',
  },
};

export interface SqlStoreOptions {
  /** Members that are absent have their default. */
  retention?: Partial<StoredRetention> | undefined;
  /**
   * How long a process may be silent before the others recover its runs, in milliseconds. Without effect if the database
   * is not shared. Default 10,000.
   */
  leaseMs?: number | undefined;
}

/**
 * Runs, logs and sessions in a SQL database: a file of this process, or Postgres. `openStore` opens one.
 *
 * What a method has reported as kept survives the process. During an outage of the database, queries are refused with
 * `unavailable`, and runs wait for its end.
 */
export class SqlRunStore extends RunStore {
  readonly durable = true;
  readonly files: SqlFileStore;
  /** Identifies this process among those that share the database. */
  readonly #processId = randomUUID();
  readonly #database: Database;
  readonly #localRuns = new LocalRuns();
  /** The admissions that are under way, by run. One that has failed is here until it is undone. */
  readonly #admitting = new Map<string, Promise<Admitted>>();
  readonly #writer: LogWriter;
  readonly #erasure: Erasure;
  readonly #sweeper: Sweeper;
  readonly #fileSweeper: FileSweeper;
  readonly #recovery: Recovery;
  #sweepTimer: NodeJS.Timeout | undefined;

  constructor(
    private readonly driver: Driver,
    options: SqlStoreOptions = {},
  ) {
    super();
    const retention = { ...STORED_RETENTION_DEFAULTS, ...options.retention };
    const database = new Database(driver);
    this.#database = database;

    const { contentDirectory } = driver;
    const storage =
      contentDirectory === undefined ? new TableStorage(database) : new DirectoryStorage(contentDirectory);
    const contents = new Contents(database, storage, this.#processId);
    this.files = new SqlFileStore(database, contents);
    this.#fileSweeper = new FileSweeper(database, contents, retention);
    this.#erasure = new Erasure(database, this.#localRuns, this.files);
    this.#sweeper = new Sweeper(database, this.#localRuns, this.#erasure, retention);

    const lease = new Lease(database, this.#processId, options.leaseMs ?? LEASE_MS);
    this.#recovery = new Recovery(database, this.#processId, lease, this.#localRuns);
    const fence = driver.isShared ? lease.fence.bind(lease) : undefined;
    this.#writer = new LogWriter(database, fence, (run) => {
      this.#localRuns.limitTails(run);
      if (run.keptLength > retention.logLength) this.#sweeper.trim(run.id).catch(reportSweep);
    });
  }

  override async recover(execute: (stored: StoredRun) => void): Promise<void> {
    await this.#recovery.start(execute);
    this.#sweepTimer = setInterval(() => void this.sweep().catch(reportSweep), SWEEP_MS);
    this.#sweepTimer.unref();
  }

  override async check(): Promise<void> {
    // A write: a database that can only be read takes no queries.
    await this.#database.attemptTransaction((db) =>
      db
        .updateTable('processes')
        .set((of) => ({ heartbeat: of.ref('heartbeat') }))
        .where('id', '=', this.#processId)
        .execute(),
    );
  }

  async admit(admission: Admission): Promise<Admitted> {
    const { runId } = admission;
    const admitting = this.#admit(admission);
    this.#admitting.set(runId, admitting);
    const settle = () => void this.#admitting.delete(runId);
    const admitted = await admitting.catch((error: unknown) => {
      // The transaction may have been committed. Its run would block the queue of its session forever.
      const wasTried = error instanceof QueryError && error.cause !== undefined;
      if (wasTried) void this.#recovery.undoAdmission(runId).finally(settle);
      else settle();
      throw error;
    });
    settle();
    // A repeated query must not find a run whose admission is going to be undone.
    if (!admitted.created) await this.#admitting.get(admitted.run.id);
    return admitted;
  }

  async start({ owner, id: runId }: RunRef): Promise<boolean> {
    const run = this.#localRuns.findUnfinished(owner, runId);
    if (run?.status !== 'waiting' || run.isFinishing) return false;
    run.status = 'running';
    run.startedAt = Date.now();
    const { status, startedAt } = run;
    const { numUpdatedRows } = await this.#database.persistStatement((db) =>
      db
        .updateTable('runs')
        .set({ status, started_at: startedAt })
        .where('id', '=', runId)
        .where('process', '=', this.#processId)
        .where('ended_at', 'is', null)
        .executeTakeFirst(),
    );
    if (numUpdatedRows > 0n) return true;
    run.isUnwritable = true;
    return false;
  }

  append({ owner, id }: RunRef, envelope: string): void | Promise<void> {
    const run = this.#localRuns.findUnfinished(owner, id);
    if (!run || run.isFinishing) return;
    if (run.isUnwritable) return Promise.reject(unwritable());
    return this.#writer.append(run, envelope);
  }

  async finish({ owner, id: runId }: RunRef, end: RunEnd, text: string): Promise<Finished | undefined> {
    const run = this.#localRuns.findUnfinished(owner, runId);
    if (!run || run.isFinishing) return undefined;
    run.isFinishing = true;
    await this.#writer.settled(run);
    const endedAt = Date.now();
    const ending = { runId, owner, process: this.#processId, log: run.logExtent, end, endedAt, text };
    const finished = await this.#finish(ending);
    if (!finished) {
      // Another process has ended the run: its end is in the database only.
      this.#localRuns.drop(runId);
      return undefined;
    }
    run.finish(finished.run);
    this.#localRuns.limitTails(run);
    this.#localRuns.end(run);
    // A repeated transaction names the same next run again. It is promoted once.
    const next = finished.next && (await this.#promote(finished.next.id));
    return { run: finished.run, next: next?.snapshot() };
  }

  /** A run whose end cannot be stored would block its session: then its failure is stored, however often that takes. */
  async #finish(ending: Ending): Promise<Finished | undefined> {
    try {
      return await this.#database.persistTransaction((db) => finish(db, this.driver, ending));
    } catch (error) {
      if (error instanceof QueryError) throw error;
      new Logger('SqlRunStore').error(
        `The end of run ${ending.runId} cannot be stored. It is stored as failed.`,
        (error as Error).stack,
      );
      const failed = { ...ending, end: END_NOT_STORED, text: '' };
      return this.#database.persistTransaction(
        (db) => finish(db, this.driver, failed),
        () => true,
      );
    }
  }

  find(owner: string, runId: string): RunRecord | undefined | Promise<RunRecord | undefined> {
    return this.#localRuns.find(owner, runId)?.snapshot() ?? this.#findStored(owner, runId);
  }

  read({ owner, id }: RunRef, after: number): LogSlice | Promise<LogSlice> {
    const tail = this.#localRuns.find(owner, id)?.tail;
    return tail && after + 1 >= tail.oldest ? tail.read(after) : this.#readStored(owner, id, after);
  }

  turns(owner: string, sessionId: string, page: TurnsPage) {
    const read = (db: Db): Promise<{ turns: Turn[]; last: number; total: number } | undefined> =>
      readTurns(db, keyOf(owner, sessionId), page);
    // The newest turns are for a handler, whose run waits for the end of an outage. Other callers can try again.
    return page.after === undefined ? this.#database.persist(read) : this.#database.attempt(read);
  }

  async text(owner: string, runId: string, sha256: string): Promise<string | undefined> {
    if (!isRunId(runId) || !isDigest(sha256)) return undefined;
    return this.#database.attempt((db) => readText(db, owner, runId, sha256));
  }

  queue(owner: string, sessionId: string): Promise<RunRecord[]> {
    return this.#database.attempt((db) => queueOf(db, keyOf(owner, sessionId)));
  }

  erase(owner: string, sessionId: string): Promise<boolean> {
    return this.#erasure.eraseSession(owner, sessionId);
  }

  /** Drops what exceeds the retention. The store does this once a minute. */
  async sweep(): Promise<void> {
    await this.#sweeper.sweep();
    await this.#fileSweeper.sweep();
  }

  /** Closes the database. Envelopes that are not committed yet are lost. */
  override async close(): Promise<void> {
    clearInterval(this.#sweepTimer);
    await this.#recovery.stop();
    await this.#database.close();
  }

  async #admit(admission: Admission): Promise<Admitted> {
    const query = await storedQuery(admission);
    const admitted = await this.#database.attemptTransaction((db) =>
      admit(db, this.driver, this.#processId, admission, query),
    );
    if (!admitted.created) return admitted;
    const run = new LocalRun(admitted.run, 0);
    run.isPromoted = admitted.ahead.length === 0;
    this.#localRuns.add(run);
    return admitted;
  }

  /** Promotes a run of this process. The database may name a run whose admission it has not reported yet. */
  async #promote(runId: string): Promise<LocalRun | undefined> {
    await this.#admitting.get(runId)?.catch(() => undefined);
    return this.#localRuns.promote(runId);
  }

  async #findStored(owner: string, runId: string): Promise<RunRecord | undefined> {
    if (!isRunId(runId)) return undefined;
    const row = await this.#database.attempt((db) =>
      selectRuns(db).where('id', '=', runId).where('owner', '=', JSON.stringify(owner)).executeTakeFirst(),
    );
    return row && recordOf(row);
  }

  async #readStored(owner: string, runId: string, after: number): Promise<LogSlice> {
    const run = await this.find(owner, runId);
    if (!run) throw runNotFound();
    const { id, lastSeq, endedAt } = run;
    // `persist`, because a follower waits for the end of an outage, as the run itself does.
    return this.#database.persist((db) => readLog(db, { id, lastSeq, ended: endedAt !== undefined }, after));
  }
}

function unwritable(): QueryError {
  const detail = 'The log of the run can no longer be written. Send the query again.';
  return new QueryError('interrupted', detail);
}

function reportSweep(error: unknown): void {
  // An outage was logged already.
  if (error instanceof QueryError && error.code === 'unavailable') return;
  const message = 'Runs, sessions or files that exceed the retention could not be dropped';
  new Logger('SqlRunStore').error(message, (error as Error).stack);
}
