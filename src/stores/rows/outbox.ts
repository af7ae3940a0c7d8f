import { sql } from 'kysely';
import { newDeliveries, type StoreHost, type RunEvent, type StoredDelivery } from '../../query/index.js';
import type { Driver } from '../drivers/driver.js';
import type { Db, Tables } from '../schema/tables.js';
import { statementWith } from './run-rows.js';

const TYPES = {
  id: 'text',
  run_id: 'text',
  endpoint: 'text',
  event: 'text',
  seq: 'bigint',
  inputs: 'text',
  created_at: 'bigint',
} as const;

const COLUMNS = Object.keys(TYPES) as (keyof typeof TYPES)[];

/** A delivery that is to be made. */
export type NewDelivery = Pick<Tables['deliveries'], (typeof COLUMNS)[number]>;

/** Makes the deliveries of events, in the transactions of these events. */
export class Outbox {
  /** See `StoreHost.endpoints`. `Recovery` sets it. */
  endpointsOf: StoreHost['endpoints'] = () => [];

  rowsOf(module: string, event: RunEvent): NewDelivery[] {
    return newDeliveries(event, (name) => this.endpointsOf(module, name)).map(rowOf);
  }
}

/**
 * Inserts deliveries of events, behind the statements that have changed the runs: a run that is in another state has no such event.
 * Can be repeated.
 */
export async function insertDeliveries(db: Db, driver: Driver, rows: NewDelivery[]): Promise<void> {
  if (rows.length > 0) await inserting.execute(db, driver, rows);
}

const inserting = statementWith<NewDelivery, 'delivery'>('delivery', TYPES, (db) =>
  db
    .insertInto('deliveries')
    .columns([...COLUMNS, 'due_at'])
    .expression((of) =>
      of
        .selectFrom('delivery')
        .innerJoin('runs', 'runs.id', 'delivery.run_id')
        .select(COLUMNS.map((column) => `delivery.${column}` as const))
        // Not before those that come first: nobody looks at it until then.
        .select((row) =>
          row.fn
            .coalesce(
              row
                .selectFrom('deliveries as earlier')
                .select((earlier) => earlier.fn.max<number>('earlier.due_at').as('due_at'))
                .whereRef('earlier.run_id', '=', 'delivery.run_id')
                .whereRef('earlier.endpoint', '=', 'delivery.endpoint'),
              'delivery.created_at',
            )
            .as('due_at'),
        )
        .where('delivery.event', '=', sql<string>`'run.' || runs.status`)
        .where((row) => row(row.fn.coalesce('runs.last_seq', 'delivery.seq'), '=', row.ref('delivery.seq'))),
    )
    .onConflict((conflict) => conflict.column('id').doNothing()),
);

function rowOf({ id, runId, endpoint, event, seq, inputs, createdAt }: StoredDelivery): NewDelivery {
  return {
    ...{ id, run_id: runId, endpoint, event, seq, created_at: createdAt },
    inputs: inputs ? JSON.stringify(inputs) : null,
  };
}
