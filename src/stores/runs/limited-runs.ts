import { type QueryCreator, sql } from 'kysely';
import type { Driver } from '../drivers/driver.js';
import { type ColumnTypes, RowStatement } from '../drivers/row-statement.js';
import type { Db, Tables } from '../schema/tables.js';
import { WAITING } from './owner-queue.js';
import { INSERTED, INSERTED_TYPES, type RunToInsert } from './run-rows.js';

/** A run that starts with its admission, if its owner is below the limit. */
export interface LimitedRun {
  row: RunToInsert;
  limit: number;
}

type LimitedRow = RunToInsert & { max_active: number };

const TYPES: ColumnTypes<LimitedRow> = { ...INSERTED_TYPES, max_active: 'bigint' };
const COLUMNS = Object.keys(TYPES);

/**
 * Inserts those of these runs whose owners are below their limits then. On a shared database, the owners must be locked.
 *
 * @returns the ids of the runs that were inserted
 */
export async function insertWithinLimit(db: Db, driver: Driver, runs: LimitedRun[]): Promise<Set<string>> {
  const rows = runs.map(({ row, limit }) => ({ ...row, max_active: limit }));
  const inserted = await insertion.execute<{ id: string }>(db, driver, rows);
  return new Set(inserted.map(({ id }) => id));
}

const insertion = new RowStatement<LimitedRow>(TYPES, (db, rows) =>
  insertOf(db.with(`candidate(${COLUMNS.join(', ')})` as 'candidate', () => sql<LimitedRow>`(${rows})`)),
);

function insertOf(db: QueryCreator<Tables & { candidate: LimitedRow }>) {
  const place = sql<number>`row_number() over (partition by candidate.owner_key order by candidate.id)`;
  return db
    .with('placed', (of) =>
      of
        .selectFrom('candidate')
        .selectAll()
        .select(place.as('place'))
        .select((row) => [
          row
            .selectFrom('runs as active')
            .whereRef('active.owner_key', '=', 'candidate.owner_key')
            .where('active.ready_at', 'is not', null)
            .where('active.ended_at', 'is', null)
            .select((active) => active.fn.countAll<number>().as('count'))
            .as('active'),
          row
            .selectFrom('runs as deferred')
            .where('deferred.status', '=', WAITING)
            .whereRef('deferred.module', '=', 'candidate.module')
            .whereRef('deferred.owner_key', '=', 'candidate.owner_key')
            .where('deferred.deferred_at', '>', 0)
            .select('deferred.id')
            .limit(1)
            .as('deferred'),
        ]),
    )
    .insertInto('runs')
    .columns(INSERTED)
    .expression((of) =>
      of
        .selectFrom('placed')
        .select(INSERTED)
        .where((row) => row(row('placed.active', '+', row.ref('placed.place')), '<=', row.ref('max_active')))
        .where('placed.deferred', 'is', null),
    )
    .returning('runs.id');
}
