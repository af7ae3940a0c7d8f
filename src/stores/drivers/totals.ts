import type { Kysely } from 'kysely';
import type { Database } from './database.js';

/** How many rows one statement looks at on SQLite, where every write waits for the statements before it. */
const PAGE = 2_000;

/** What is added up: a length of the rows that have a time. An index has both columns, in this order. */
const LENGTHS = {
  runs: { time: 'ended_at', length: 'log_length' },
  sessions: { time: 'used_at', length: 'length' },
  contents: { time: 'completed_at', length: 'size' },
};

type Table = keyof typeof LENGTHS;
type Columns = Record<Table, Record<string, number>>;

/** How many rows one statement may look at. */
export function rowsAtOnce({ driver }: Database): number {
  return driver.isShared ? Number.MAX_SAFE_INTEGER : PAGE;
}

/**
 * Adds up the lengths of all rows that have a time, in pages. Rows that change meanwhile may be missing, or counted twice.
 *
 * @param page how many rows one statement adds up, and those that have the same time as the last of them
 */
export async function totalOf(
  database: Database,
  table: Table,
  page = rowsAtOnce(database),
): Promise<number> {
  let total = 0;
  let after = -1;
  for (;;) {
    const { length, last, count } = await database.attempt((db) =>
      addUp(db as unknown as Kysely<Columns>, table, after, page),
    );
    total += Number(length ?? 0);
    if (Number(count) < page) return total;
    after = last!;
  }
}

function addUp(db: Kysely<Columns>, table: Table, after: number, page: number) {
  const { time, length } = LENGTHS[table];
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
      of.fn.countAll<string | number>().as('count'),
    ])
    .where(time, '>', after)
    .where((of) => of(time, '<=', of.fn.coalesce(lastTime, of.val(Number.MAX_SAFE_INTEGER))))
    .executeTakeFirstOrThrow();
}

/** The share of the time that adding up may take, at most. */
const SHARE = 1 / 20;

/** The length of the logs of all runs that have ended, in characters of JSON. With many of them it is measured less often. */
export class EndedLength {
  #measured: Promise<number> | undefined;

  constructor(private readonly database: Database) {}

  /**
   * If it takes `t` to add up the length, the answer is at most `20 t` old.
   *
   * @throws {QueryError} `unavailable`
   */
  measure(): Promise<number> {
    return (this.#measured ??= this.#addUp());
  }

  async #addUp(): Promise<number> {
    const since = performance.now();
    let validMs = 0;
    try {
      const length = await totalOf(this.database, 'runs');
      validMs = (performance.now() - since) / SHARE;
      return length;
    } finally {
      setTimeout(() => (this.#measured = undefined), validMs).unref();
    }
  }
}
