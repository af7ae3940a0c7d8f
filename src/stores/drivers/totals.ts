import type { Kysely } from 'kysely';
import type { Database } from './database.js';

/** How many rows one statement adds up. A limit, because on SQLite every write waits for the statements before it. */
const PAGE = 2_000;

/** Which rows are added up. An index has both columns, in this order. */
type Lengths =
  | { table: 'runs'; time: 'ended_at'; length: 'log_length' }
  | { table: 'sessions'; time: 'used_at'; length: 'length' }
  | { table: 'contents'; time: 'completed_at'; length: 'size' };

type Columns = Record<string, Record<string, number>>;

/**
 * Adds up the lengths of all rows that have a time, in pages. Rows that change meanwhile may be missing, or counted twice.
 *
 * @param page how many rows one statement adds up, and those that have the same time as the last of them
 */
export async function totalOf(database: Database, rows: Lengths, page = PAGE): Promise<number> {
  let total = 0;
  let after = -1;
  for (;;) {
    const { length, last } = await database.attempt((db) =>
      pageOf(db as unknown as Kysely<Columns>, rows, after, page),
    );
    if (last === null) return total;
    total += Number(length);
    after = last;
  }
}

function pageOf(db: Kysely<Columns>, { table, time, length }: Lengths, after: number, page: number) {
  const lastTime = db
    .selectFrom(table)
    .select(time)
    .where(time, '>', after)
    .orderBy(time)
    .offset(page - 1)
    .limit(1);
  return db
    .selectFrom(table)
    .select((of) => [
      of.fn.sum<string | number | null>(length).as('length'),
      of.fn.max<number | null>(time).as('last'),
    ])
    .where(time, '>', after)
    .where((of) => of(time, '<=', of.fn.coalesce(lastTime, of.val(Number.MAX_SAFE_INTEGER))))
    .executeTakeFirstOrThrow();
}
