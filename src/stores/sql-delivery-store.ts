import {
  deliveryAgain,
  type DeliveryResult,
  DeliveryStore,
  type EndpointRef,
  type RunRef,
  type StoredDelivery,
  type TakenDelivery,
  triedDelivery,
} from '../query/index.js';
import { expressionBuilder, type Selectable } from 'kysely';
import type { Database } from './drivers/database.js';
import type { Db, Tables } from './schema/tables.js';
import type { Lease } from './process/lease.js';
import { WAITING } from './rows/queues.js';
import { findRun, isRunId, recordOf, selectRuns, valueOf } from './rows/run-rows.js';

/** The webhooks of runs, in the database. A process that is gone has taken nothing. */
export class SqlDeliveryStore extends DeliveryStore {
  /**
   * The ids of the deliveries that this process tries. The database may say that it has others, because an answer was lost: those
   * are taken again.
   */
  readonly #taken = new Set<string>();

  constructor(
    private readonly database: Database,
    private readonly lease: Lease,
  ) {
    super();
  }

  async take({ key, address }: EndpointRef, count: number): Promise<TakenDelivery[]> {
    const { database } = this;
    const { processId } = this.lease;
    const rows = await database.attempt((db) => this.#take(db, key, processId, count));
    if (rows.length === 0) return [];
    for (const { id } of rows) this.#taken.add(id);
    const runIds = rows.map(({ run_id }) => run_id);
    const [runs, disabled] = await database.persist((db) =>
      Promise.all([
        selectRuns(db).where('id', 'in', runIds).where('owner', 'is not', null).execute(),
        db
          .selectFrom('disabled_endpoints')
          .select('address')
          .where('address', '=', address)
          .executeTakeFirst(),
      ]),
    );
    const byId = new Map(runs.map((row) => [row.id, recordOf(row)]));
    return rows.flatMap((row) => {
      const run = byId.get(row.run_id);
      if (run)
        return [{ delivery: deliveryOf(row), run, isDisabled: disabled !== undefined, taker: processId }];
      // A run that was erased takes its deliveries with it.
      this.#taken.delete(row.id);
      return [];
    });
  }

  #take(db: Db, endpoint: string, processId: string, count: number) {
    return db
      .updateTable('deliveries')
      .set({ process: processId })
      .where('id', 'in', (of) =>
        of
          .selectFrom('deliveries as due')
          .select('due.id')
          .where('due.status', '=', WAITING)
          .where('due.endpoint', '=', endpoint)
          .where('due.due_at', '<=', this.database.now())
          .where('due.process', 'not in', others(processId))
          .$if(this.#taken.size > 0, (due) => due.where('due.id', 'not in', [...this.#taken]))
          .where((due) =>
            due.not(
              due.exists(
                due
                  .selectFrom('deliveries as earlier')
                  .select('earlier.id')
                  .whereRef('earlier.run_id', '=', 'due.run_id')
                  .whereRef('earlier.endpoint', '=', 'due.endpoint')
                  .whereRef('earlier.seq', '<', 'due.seq')
                  .where('earlier.status', '=', WAITING),
              ),
            ),
          )
          .orderBy('due.due_at')
          .limit(count)
          .forUpdate()
          .skipLocked(),
      )
      .returningAll()
      .execute();
  }

  async settle(taken: TakenDelivery, result: DeliveryResult): Promise<void> {
    const { id, runId, endpoint } = taken.delivery;
    const { status, tries, triedAt, dueAt, error } = triedDelivery(
      taken.delivery,
      result,
      this.database.now(),
    );
    const due_at = dueAt ?? null;
    await this.database.persist(async (db) => {
      const { numUpdatedRows } = await db
        .updateTable('deliveries')
        .set({ status, tries, tried_at: triedAt!, due_at, error: error ?? null, process: '' })
        .where('id', '=', id)
        .where('process', '=', taken.taker)
        .executeTakeFirst();
      if (numUpdatedRows === 0n || due_at === null) return;
      await db
        .updateTable('deliveries')
        .set({ due_at })
        .where('run_id', '=', runId)
        .where('endpoint', '=', endpoint)
        .where('status', '=', WAITING)
        .execute();
    }, 'transaction');
    this.#taken.delete(id);
  }

  async disable({ address }: EndpointRef): Promise<void> {
    await this.database.persist((db) =>
      db
        .insertInto('disabled_endpoints')
        .values({ address })
        .onConflict((conflict) => conflict.column('address').doNothing())
        .execute(),
    );
  }

  async sendAgain(
    { owner, id: runId }: RunRef,
    id: string,
    endpoints: readonly EndpointRef[],
  ): Promise<StoredDelivery | undefined> {
    if (!isRunId(runId) || !isRunId(id)) return undefined;
    const { status, tries, dueAt } = deliveryAgain(this.database.now());
    return this.database.attempt(async (db) => {
      if (!(await findRun(db, owner, runId))) return undefined;
      const of = db.selectFrom('deliveries').selectAll().where('run_id', '=', runId).where('id', '=', id);
      const found = await of.executeTakeFirst();
      const endpoint = endpoints.find(({ key }) => key === found?.endpoint);
      if (!endpoint) return undefined;
      await db.deleteFrom('disabled_endpoints').where('address', '=', endpoint.address).execute();
      await db
        .updateTable('deliveries')
        .set({ status, tries, due_at: dueAt! })
        .where('id', '=', id)
        .where('process', '=', '')
        .execute();
      return deliveryOf(await of.executeTakeFirstOrThrow());
    }, 'transaction');
  }

  async of({ owner, id }: RunRef): Promise<StoredDelivery[]> {
    if (!isRunId(id)) return [];
    return this.database.attempt(async (db) => {
      if (!(await findRun(db, owner, id))) return [];
      const of = db.selectFrom('deliveries').selectAll().where('run_id', '=', id);
      return (await of.orderBy('seq').orderBy('endpoint').execute()).map(deliveryOf);
    });
  }
}

/** The other processes that live. */
function others(processId: string) {
  const of = expressionBuilder<Tables, never>();
  return of.selectFrom('processes').select('processes.id').where('processes.id', '!=', processId);
}

function deliveryOf(row: Selectable<Tables['deliveries']>): StoredDelivery {
  return {
    id: row.id,
    runId: row.run_id,
    endpoint: row.endpoint,
    event: row.event as StoredDelivery['event'],
    seq: row.seq,
    inputs: valueOf<string[]>(row.inputs, row.run_id),
    createdAt: row.created_at,
    status: row.status as StoredDelivery['status'],
    tries: row.tries,
    triedAt: row.tried_at ?? undefined,
    dueAt: row.due_at ?? undefined,
    error: row.error ?? undefined,
  };
}
