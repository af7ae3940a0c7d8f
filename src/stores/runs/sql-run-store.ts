import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import {
  type Admission,
  type Admitted,
  type LogSlice,
  QueryError,
  type RetentionOptions,
  type RunEnd,
  type RunRef,
  type RunRecord,
  runNotFound,
  RunStore,
  type StoredRun,
  type Turn,
} from '../../query/index.js';
import { admit } from './admit.js';
import type { Backend } from '../drivers/driver.js';
import { DirectoryPlace, TablePlace } from '../files/content-storage.js';
import { Database } from '../drivers/database.js';
import { type Finished, finish, logEnd } from './finish.js';
import { LiveRun } from './live-run.js';
import { LogWriter } from './log-writer.js';
import { readLog, readTurns } from './read.js';
import { Recovery } from './recovery.js';
import { Retention } from './retention.js';
import { isRunId, keyOf, lineOf, recordOf, selectRuns } from './run-rows.js';
import { type FileLimits, SqlFileStore } from '../files/sql-file-store.js';
import { Tails } from './tails.js';

/** How long the other processes wait for a sign of life before they take one for lost. */
const LEASE_MS = 10_000;
const SWEEP_MS = 60_000;
const DAY_MS = 24 * 60 * 60_000;
const MiB = 1024 * 1024;

/** What a SQL store keeps of what has ended. */
export type StoredRetention = RetentionOptions & Pick<FileLimits, 'fileMs'>;

/** Unless it is told otherwise: a week of runs, a month of sessions and files, up to 4 GiB of logs, 10 GiB of files. */
export const STORED_RETENTION_DEFAULTS: StoredRetention = {
  runMs: 7 * DAY_MS,
  logLength: 64 * MiB,
  totalLength: 4096 * MiB,
  sessionMs: 30 * DAY_MS,
  sessionsLength: 1024 * MiB,
  fileMs: 30 * DAY_MS,
  filesBytes: 10 * 1024 * MiB,
};

/** How a store keeps what it keeps. */
export interface SqlStoreOptions {
  /** Default `STORED_RETENTION_DEFAULTS`. */
  retention?: Partial<StoredRetention> | undefined;
  /** How long other processes that share the database may be silent before their runs count as lost. Default 10,000 ms. */
  leaseMs?: number | undefined;
}

/**
 * Runs, logs and sessions in a SQL database: a file of this process's own, or Postgres. `openStore` makes one.
 *
 * What it has told to be kept survives the process. While the database is away, queries are refused with `unavailable`;
 * runs that go on wait for it.
 */
export class SqlRunStore extends RunStore {
  readonly durable = true;
  readonly files: SqlFileStore;
  /** This process, among those that share the database. */
  readonly #process = randomUUID();
  readonly #database: Database;
  readonly #tails = new Tails();
  readonly #writer: LogWriter;
  readonly #retention: Retention;
  readonly #recovery: Recovery;
  #sweeper: NodeJS.Timeout | undefined;

  constructor(
    private readonly backend: Backend,
    { retention, leaseMs = LEASE_MS }: SqlStoreOptions = {},
  ) {
    super();
    this.#database = new Database(backend);
    const limits = { ...STORED_RETENTION_DEFAULTS, ...retention };
    const place =
      backend.contents === undefined ? new TablePlace(this.#database) : new DirectoryPlace(backend.contents);
    this.files = new SqlFileStore(this.#database, place, this.#process, limits);
    this.#retention = new Retention(this.#database, this.#tails, this.files, limits);
    this.#writer = new LogWriter(
      this.#database,
      backend.isShared ? (db) => this.#recovery.fence(db) : undefined,
      (run) => {
        this.#tails.grew(run);
        if (run.position - run.trimmedTo > limits.logLength) {
          this.#retention.trim(run.id).catch((error: unknown) => reportSweep(error));
        }
      },
    );
    this.#recovery = new Recovery(this.#database, this.#process, leaseMs, {
      adopt: (run) => this.#adopt(run),
      inLine: () => [...this.#tails.live.values()].filter((run) => !run.isCalledUp).map(({ id }) => id),
      callUp: (runId) => this.#callUp(runId) !== undefined,
      lose: () => this.#lose(),
    });
  }

  override async recover(take: (stored: StoredRun) => void): Promise<void> {
    await this.#recovery.start(take);
    this.#sweeper = setInterval(() => void this.sweep().catch(reportSweep), SWEEP_MS);
    this.#sweeper.unref();
  }

  override async check(): Promise<void> {
    await this.#database.attempt((db) => db.selectFrom('processes').select('id').limit(1).execute());
  }

  async admit(admission: Admission): Promise<Admitted> {
    const admitted = await this.#admit(admission);
    if (!admitted.created) return admitted;
    const run = new LiveRun(admitted.run, 0);
    run.isCalledUp = admitted.ahead.length === 0;
    this.#tails.add(run);
    return admitted;
  }

  async start({ owner, id: runId }: RunRef): Promise<boolean> {
    const run = this.#alive(owner, runId);
    if (run?.status !== 'waiting' || run.isEnding) return false;
    run.status = 'running';
    run.startedAt = Date.now();
    const { status, startedAt } = run;
    const { numUpdatedRows } = await this.#database.persistStatement((db) =>
      db
        .updateTable('runs')
        .set({ status, started_at: startedAt })
        .where('id', '=', runId)
        .where('process', '=', this.#process)
        .where('ended_at', 'is', null)
        .executeTakeFirst(),
    );
    if (numUpdatedRows > 0n) return true;
    run.isLost = true;
    return false;
  }

  append({ owner, id }: RunRef, envelope: string): void | Promise<void> {
    const run = this.#alive(owner, id);
    if (!run || run.isEnding) return;
    if (run.isLost) return Promise.reject(lost());
    return this.#writer.append(run, envelope);
  }

  async finish({ owner, id: runId }: RunRef, end: RunEnd, text: string): Promise<Finished | undefined> {
    const run = this.#alive(owner, runId);
    if (!run || run.isEnding) return undefined;
    run.isEnding = true;
    await this.#writer.settled(run);
    const ending = { runId, owner, end, endedAt: Date.now(), text, process: this.#process, log: run.extent };
    const finished = await this.#database.persistTransaction((db) => finish(db, this.backend, ending));
    if (finished) run.finish(finished.run);
    this.#tails.grew(run);
    this.#tails.ended(run);
    return finished && { run: finished.run, next: finished.next && this.#callUp(finished.next.id) };
  }

  find(owner: string, runId: string): RunRecord | undefined | Promise<RunRecord | undefined> {
    return this.#tails.find(owner, runId)?.snapshot() ?? this.#stored(owner, runId);
  }

  read({ owner, id }: RunRef, after: number): LogSlice | Promise<LogSlice> {
    const tail = this.#tails.find(owner, id)?.tail;
    return tail && after + 1 >= tail.oldest ? tail.read(after) : this.#readStored(owner, id, after);
  }

  turns(owner: string, sessionId: string, page: { after: number | undefined; limit: number }) {
    return this.#database.attempt((db): Promise<{ turns: Turn[]; last: number; total: number } | undefined> =>
      readTurns(db, keyOf(owner, sessionId), page),
    );
  }

  queue(owner: string, sessionId: string): Promise<RunRecord[]> {
    return this.#database.attempt((db) => lineOf(db, keyOf(owner, sessionId)));
  }

  erase(owner: string, sessionId: string): Promise<boolean> {
    return this.#retention.erase(owner, sessionId);
  }

  /** Drops what is too old or too much. The store does so by itself, every minute. */
  sweep(): Promise<void> {
    return this.#retention.sweep();
  }

  /** Closes the database. What was not committed is given up. */
  override async close(): Promise<void> {
    clearInterval(this.#sweeper);
    await this.#recovery.stop();
    await this.#database.close();
  }

  async #admit(admission: Admission): Promise<Admitted> {
    try {
      return await this.#database.attemptTransaction((db) =>
        admit(db, this.backend, this.#process, admission),
      );
    } catch (error) {
      // It may have been committed all the same, and would stand in its session's line for ever.
      const wasTried = error instanceof QueryError && error.cause !== undefined;
      if (wasTried) this.#recovery.withdraw(admission.runId);
      throw error;
    }
  }

  /** The run, if this process executes it and it has not ended. */
  #alive(owner: string, runId: string): LiveRun | undefined {
    const run = this.#tails.live.get(runId);
    return run?.owner === owner ? run : undefined;
  }

  /** Calls a run up once, however often the end of the one before had to be written. */
  #callUp(runId: string): RunRecord | undefined {
    const run = this.#tails.live.get(runId);
    if (!run || run.isCalledUp) return undefined;
    run.isCalledUp = true;
    return run.snapshot();
  }

  async #adopt(record: RunRecord): Promise<void> {
    const { position } = await this.#database.attempt((db) => logEnd(db, record.id));
    this.#tails.add(new LiveRun(record, position));
  }

  /** What this process still executes has ended as far as everybody else is concerned. */
  #lose(): void {
    for (const run of this.#tails.live.values()) run.isLost = true;
  }

  async #stored(owner: string, runId: string): Promise<RunRecord | undefined> {
    if (!isRunId(runId)) return undefined;
    const row = await this.#database.attempt((db) =>
      selectRuns(db).where('id', '=', runId).where('owner', '=', JSON.stringify(owner)).executeTakeFirst(),
    );
    return row && recordOf(row);
  }

  async #readStored(owner: string, runId: string, after: number): Promise<LogSlice> {
    const record = this.#tails.find(owner, runId)?.snapshot() ?? (await this.#stored(owner, runId));
    if (!record) throw runNotFound();
    const { id, lastSeq, endedAt } = record;
    // Somebody is following: his stream waits for the database, like the run.
    return this.#database.persist((db) => readLog(db, { id, lastSeq, ended: endedAt !== undefined }, after));
  }
}

function lost(): QueryError {
  return new QueryError(
    'interrupted',
    'The run was lost: its log could not be written. Send the query again.',
  );
}

function reportSweep(error: unknown): void {
  // That the database is away has been told already.
  if (error instanceof QueryError && error.code === 'unavailable') return;
  new Logger('SqlRunStore').error(
    'What is to be kept no longer could not be dropped',
    (error as Error).stack,
  );
}
