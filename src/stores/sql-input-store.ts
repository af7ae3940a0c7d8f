import {
  type Asking,
  type AttemptRef,
  type GivenAnswers,
  InputStore,
  interrupted,
  type ListPage,
  runNotFound,
  type RunRef,
  type StoredInput,
} from '../query/index.js';
import type { Database } from './drivers/database.js';
import type { Db } from './schema/tables.js';
import { answer, ask, park } from './process/asking.js';
import { inputsOf } from './rows/input-rows.js';
import type { Lease } from './process/lease.js';
import { listOpenInputs } from './rows/lists.js';
import type { LocalRun } from './process/local-run.js';
import type { LocalRuns } from './process/local-runs.js';
import type { LogWriter } from './process/log-writer.js';
import type { Outbox } from './rows/outbox.js';
import type { OwnerLimits } from './steps/owner-limits.js';
import { findRun, isRunId, valueOf } from './rows/run-rows.js';

/** What runs ask, in the database. */
export class SqlInputStore extends InputStore {
  constructor(
    private readonly database: Database,
    private readonly lease: Lease,
    private readonly localRuns: LocalRuns,
    private readonly writer: LogWriter,
    private readonly limits: OwnerLimits,
    private readonly outbox: Outbox,
  ) {
    super();
  }

  async ask(ref: AttemptRef, asking: Asking): Promise<{ text: string; seq: number }> {
    const run = this.localRuns.findUnfinished(ref);
    if (run?.attempt !== ref.attempt || run.isFinishing || run.isUnwritable) throw interrupted();
    run.isFinishing = true;
    const asked = this.#ask(run, asking).finally(() => {
      run.isFinishing = false;
      run.asking = undefined;
    });
    run.asking = asked;
    return asked;
  }

  async #ask(run: LocalRun, asking: Asking): Promise<{ text: string; seq: number }> {
    const { database, limits } = this;
    await this.writer.settled(run);
    if (run.isUnwritable) throw interrupted();
    const now = database.now();
    const limit = limits.of(run.module) ?? Infinity;
    const askIt = (db: Db) => ask(db, database.driver, run, asking, limit, this.outbox, now);
    const { ready, ...asked } = await database.persist(askIt, 'transaction');
    this.localRuns.drop(run);
    // The handler of a run that has asked may wait in another process, and only that one may take it.
    if (ready.some(({ startedAt }) => startedAt !== undefined))
      database.driver.signals.send({ type: 'ready' });
    return asked;
  }

  park({ id, attempt }: AttemptRef): Promise<boolean> {
    const { database } = this;
    const { processId: process } = this.lease;
    return database.attempt((db) => park(db, database.driver, { id, attempt, process }), 'transaction');
  }

  async answer(run: RunRef, given: GivenAnswers) {
    if (!isRunId(run.id)) throw runNotFound();
    const { database, limits } = this;
    const now = database.now();
    return database.attempt((db) => answer(db, database.driver, run, given, limits.of, now), 'transaction');
  }

  async of(ref: RunRef): Promise<StoredInput[]> {
    const { owner, id } = ref;
    if (!isRunId(id)) return [];
    const read = async (db: Db) => ((await findRun(db, owner, id)) ? inputsOf(db, id) : []);
    // A handler waits for the end of an outage. Other callers can try again.
    const isExecuting = this.localRuns.findUnfinished(ref) !== undefined;
    return isExecuting ? this.database.persist(read) : this.database.attempt(read);
  }

  open(owner: string, page: ListPage) {
    return this.database.attempt((db) => listOpenInputs(db, owner, page));
  }

  async ownerOf(runId: string): Promise<string | undefined> {
    if (!isRunId(runId)) return undefined;
    const row = await this.database.attempt((db) =>
      db.selectFrom('runs').select('owner').where('id', '=', runId).executeTakeFirst(),
    );
    return row && valueOf<string>(row.owner, runId);
  }

  async countOpen(): Promise<number> {
    const { count } = await this.database.attempt((db) =>
      db
        .selectFrom('requests')
        .select((of) => of.fn.countAll<number>().as('count'))
        .where('resolved', 'is', null)
        .executeTakeFirstOrThrow(),
    );
    return Number(count);
  }
}
