import {
  type Admission,
  type AttemptRef,
  type EndedRunsPage,
  type Fork,
  interrupted,
  type ListPage,
  type StoreHost,
  type RunEnd,
  type RunRecord,
  type RunRef,
  runNotFound,
  RunStore,
  type RunsPage,
  type Signals,
  type TurnAnswer,
  type TurnFile,
  type TurnsPage,
  type Used,
} from '../query/index.js';
import { Database, DatabaseUnavailable } from './drivers/database.js';
import type { Driver } from './drivers/driver.js';
import { EndedLength } from './drivers/totals.js';
import { isDigest, keyOf } from './schema/keys.js';
import type { Db } from './schema/tables.js';
import { storageOf } from './files/content-storage.js';
import { FileSweeper } from './files/file-sweeper.js';
import { SqlFileStore } from './files/sql-file-store.js';
import { SqlUploadStore } from './files/sql-upload-store.js';
import { reserveUploads } from './files/upload-reservations.js';
import { RunEnder } from './process/run-ender.js';
import { Erasure } from './process/erasure.js';
import { moveAll } from './process/journal.js';
import { Lease } from './process/lease.js';
import { listEndedRuns } from './rows/ended-runs.js';
import { listRuns, listSessions } from './rows/lists.js';
import type { LocalRun } from './process/local-run.js';
import { LocalRuns } from './process/local-runs.js';
import { LogWriter } from './process/log-writer.js';
import { Outbox } from './rows/outbox.js';
import { OwnerLimits } from './steps/owner-limits.js';
import { findPart } from './rows/parts.js';
import { LogReader } from './rows/read-log.js';
import { Recovery } from './process/recovery.js';
import { STORED_RETENTION_DEFAULTS, type StoredRetention } from './process/retention-options.js';
import { recordWish } from './rows/run-changes.js';
import { findRun, isRunId } from './rows/run-rows.js';
import { forkSession } from './steps/session-changes.js';
import { queueOf } from './steps/session-queues.js';
import { RunStarter } from './process/run-starter.js';
import { readQuery } from './rows/stored-query.js';
import { SqlDeliveryStore } from './sql-delivery-store.js';
import { SqlInputStore } from './sql-input-store.js';
import { SqlUsageStore } from './sql-usage-store.js';
import { Sweeper } from './process/sweeper.js';
import { readTurn, readTurns } from './rows/turns.js';
import { UsageSums } from './process/usage-sums.js';

export interface SqlStoreOptions {
  /** Members that are absent have their default. */
  retention?: Partial<StoredRetention> | undefined;
  /** How long a process may be silent before the others recover its runs, in milliseconds. Default 8,000. */
  leaseMs?: number | undefined;
}

/**
 * Runs, logs and sessions in a SQL database: a file of this process, or Postgres. `openStore` opens one.
 *
 * What a method has reported as kept survives the process. During an outage of the database, queries are refused with
 * `unavailable`, and runs wait for its end.
 */
export class SqlRunStore extends RunStore {
  override readonly durable = true;
  override readonly changesSessions = true;
  override readonly files: SqlFileStore;
  override readonly inputs: SqlInputStore;
  override readonly uploads: SqlUploadStore;
  override readonly deliveries: SqlDeliveryStore;
  override readonly usage: SqlUsageStore;
  override readonly signals: Signals;
  readonly #database: Database;
  readonly #localRuns: LocalRuns;
  readonly #lease: Lease;
  readonly #starter: RunStarter;
  readonly #ender: RunEnder;
  readonly #writer: LogWriter;
  readonly #reader: LogReader;
  readonly #erasure: Erasure;
  readonly #endedLength: EndedLength;
  readonly #sweeper: Sweeper;
  readonly #recovery: Recovery;

  constructor(driver: Driver, options: SqlStoreOptions = {}) {
    super();
    const retention = { ...STORED_RETENTION_DEFAULTS, ...options.retention };
    const database = (this.#database = new Database(driver));
    const lease = new Lease(database, options.leaseMs);
    const localRuns = (this.#localRuns = new LocalRuns(() => database.now()));
    this.#lease = lease;
    this.#endedLength = new EndedLength(database);
    this.signals = driver.signals;

    const storage = storageOf(database);
    this.files = new SqlFileStore(database, storage, () => lease.processId);
    this.uploads = new SqlUploadStore(database, this.files, storage);
    const outbox = new Outbox();
    const writer = new LogWriter(database, outbox, (run) => {
      localRuns.limitTails(run);
      if (run.keptLength > retention.logLength) this.#sweeper.trim(run.id);
    });
    this.#writer = writer;
    const erasure = (this.#erasure = new Erasure(database, localRuns, this.files, writer));
    const files = new FileSweeper(database, this.files, retention);
    const sums = new UsageSums(database);
    this.#sweeper = new Sweeper(database, lease, localRuns, erasure, files, sums, writer, retention);

    const limits = new OwnerLimits(database);
    this.#starter = new RunStarter(database, lease, localRuns, writer, limits, outbox, () =>
      this.#recovery.renewLate(),
    );
    this.#recovery = new Recovery(database, lease, localRuns, limits, outbox, (id) =>
      this.#starter.isStarting(id),
    );
    this.#reader = new LogReader(database);
    this.#ender = new RunEnder(database, localRuns, writer, limits, outbox, sums);
    this.inputs = new SqlInputStore(database, lease, localRuns, writer, limits, outbox);
    this.deliveries = new SqlDeliveryStore(database, lease);
    this.usage = new SqlUsageStore(database);
  }

  override async open(host: StoreHost): Promise<void> {
    await moveAll(this.#database);
    await this.#recovery.start(host);
    this.#sweeper.start();
  }

  override check(): Promise<void> {
    return this.#lease.check();
  }

  override async logLength(): Promise<number> {
    return (await this.#endedLength.measure()) + this.#localRuns.unfinishedLength;
  }

  override reserveUploads(owner: string, bytes: number, maxBytes: number): Promise<boolean> {
    return reserveUploads(this.#database, this.#lease.processId, owner, bytes, maxBytes);
  }

  admit(admission: Admission) {
    return this.#starter.admit(admission);
  }

  take(count: number, module = '') {
    return this.#starter.take(count, module);
  }

  override async query(ref: RunRef) {
    const { owner, id } = ref;
    if (!isRunId(id)) throw runNotFound();
    const run = this.#localRuns.findUnfinished(ref);
    const row = run?.query;
    if (run) run.query = undefined;
    // `persist`, because a run waits for the end of an outage.
    return this.#database.persist((db) => readQuery(db, owner, id, row));
  }

  append(ref: RunRef, envelope: string, used?: Used): void | Promise<void> {
    const run = this.#localRuns.findUnfinished(ref);
    if (!run || run.isFinishing) return;
    run.query = undefined;
    if (run.isUnwritable) return Promise.reject(interrupted());
    return this.#writer.append(run, envelope, used);
  }

  override async saveCheckpoint(ref: AttemptRef, state: string): Promise<void> {
    await this.#writer.checkpoint(this.#executed(ref), state);
  }

  async saveFile(ref: AttemptRef, file: TurnFile, content: Blob): Promise<void> {
    const run = this.#executed(ref);
    await run.stored;
    // A run waits for the end of an outage.
    const isAdded = await this.#database.persist(
      () => this.files.add(ref, run.process, file, content),
      undefined,
      (error) => error instanceof DatabaseUnavailable,
    );
    if (!isAdded) throw interrupted();
  }

  /** The run, if this process executes it at this attempt. Its query is not needed again: the handler has begun. */
  #executed(ref: AttemptRef): LocalRun {
    const run = this.#localRuns.findUnfinished(ref);
    if (run?.attempt !== ref.attempt || run.isFinishing || run.isUnwritable) throw interrupted();
    run.query = undefined;
    return run;
  }

  async part(owner: string, runId: string, sha256: string) {
    if (!isRunId(runId) || !isDigest(sha256)) return undefined;
    return this.#database.attempt((db) => findPart(db, owner, runId, sha256));
  }

  async wish(ref: RunRef, what: 'cancel' | 'detach'): Promise<boolean> {
    const { owner, id } = ref;
    if (!isRunId(id)) return false;
    const column = what === 'cancel' ? 'cancelled' : 'detached';
    const isNew = await this.#database.attempt((db) => recordWish(db, owner, id, column), 'round trip');
    const run = this.#localRuns.findUnfinished(ref);
    if (run && what === 'detach') run.record = { ...run.record, detached: true };
    return isNew;
  }

  override handOver(run: AttemptRef): Promise<boolean> {
    return this.#ender.handOver(run);
  }

  end(run: AttemptRef, end: RunEnd, answer: TurnAnswer) {
    return this.#ender.end(run, end, answer);
  }

  find(owner: string, runId: string, isFresh = false) {
    const local = this.#localRuns.find({ owner, id: runId });
    // Another process may have changed what it was asked, or have erased a run that has ended.
    const mayDiffer = this.#database.driver.isShared && (isFresh || local?.record.endedAt !== undefined);
    if (local && !mayDiffer) return { ...local.record, lastSeq: local.lastSeq };
    if (!isRunId(runId)) return undefined;
    const read = (db: Db) => findRun(db, owner, runId);
    // A run needs its fresh record, and waits for the end of an outage.
    return isFresh ? this.#database.persist(read) : this.#database.attempt(read);
  }

  read(ref: RunRef, after: number) {
    const run = this.#localRuns.find(ref);
    if (run && after + 1 >= run.tail.oldest) return run.tail.read(after);
    const moved = run && this.#writer.moved(run);
    const read = () => this.#reader.read(ref.owner, ref.id, after);
    return moved ? moved.then(read) : read();
  }

  turns(owner: string, sessionId: string, page: TurnsPage) {
    const read = (db: Db) => readTurns(db, keyOf(owner, sessionId), page);
    // The newest turns are for a handler, whose run waits for the end of an outage. Other callers can try again.
    return page.after === undefined ? this.#database.persist(read) : this.#database.attempt(read);
  }

  override turn(owner: string, sessionId: string, runId: string) {
    return this.#database.attempt((db) => readTurn(db, keyOf(owner, sessionId), runId));
  }

  async queue(owner: string, sessionId: string): Promise<RunRecord[]> {
    const queue = await this.#database.attempt((db) => queueOf(db, keyOf(owner, sessionId)));
    return queue.map((run) => this.#withNewest(run));
  }

  async runs(owner: string, page: RunsPage) {
    const { runs, ...others } = await this.#database.attempt((db) => listRuns(db, owner, page));
    return { runs: runs.map((run) => this.#withNewest(run)), ...others };
  }

  override endedRuns(owner: string, page: EndedRunsPage) {
    return this.#database.attempt((db) => listEndedRuns(db, owner, page));
  }

  /** The newest envelopes of a run may be in the journal. */
  #withNewest(run: RunRecord): RunRecord {
    const local = this.#localRuns.findUnfinished(run);
    return local && local.lastSeq > run.lastSeq ? { ...run, lastSeq: local.lastSeq } : run;
  }

  sessions(owner: string, page: ListPage) {
    return this.#database.attempt((db) => listSessions(db, owner, page));
  }

  erase(owner: string, sessionId: string): Promise<boolean> {
    return this.#erasure.eraseSession(owner, sessionId);
  }

  override eraseRun(owner: string, runId: string): Promise<boolean> {
    return this.#erasure.eraseRun(owner, runId);
  }

  override fork(owner: string, fork: Fork) {
    const database = this.#database;
    const forkIt = (db: Db) => forkSession(db, database.driver, owner, fork, database.now());
    return database.attempt(forkIt, 'transaction');
  }

  /** Drops what exceeds the retention, unless another process does that now. The store does this once a minute. */
  sweep(): Promise<void> {
    return this.#sweeper.sweep();
  }

  /** Closes the database. Envelopes that are not committed yet are lost. */
  override async close(): Promise<void> {
    this.#sweeper.stop();
    await this.#recovery.stop();
    await this.#database.close();
  }
}
