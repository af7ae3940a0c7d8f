import { sql } from 'kysely';
import { QueryError } from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import { keyOf } from '../schema/keys.js';
import type { Db, Tables } from '../schema/tables.js';

/**
 * Reserves bytes of files in transit for an owner: a row for each process and owner. The rows of a process are gone when its
 * lease ends. See `RunStore.reserveUploads`.
 */
export function reserveUploads(
  database: Database,
  process: string,
  owner: string,
  bytes: number,
  maxBytes: number,
): Promise<boolean> {
  const row = { process, owner_key: keyOf(owner, 'uploads'), bytes };
  return database.attemptTransaction(async (db) => {
    if (bytes === 0) {
      await db
        .deleteFrom('uploads')
        .where('owner_key', '=', row.owner_key)
        .where('process', '=', process)
        .execute();
      return true;
    }
    // Two processes must not count the same bytes and both add to them.
    await database.driver.lock(db, `uploads ${row.owner_key}`);
    const others = await db
      .selectFrom('uploads')
      .where('owner_key', '=', row.owner_key)
      .where('process', '!=', process)
      .select((of) => of.fn.sum<string | number | null>('bytes').as('bytes'))
      .executeTakeFirstOrThrow();
    if (Number(others.bytes) + bytes > maxBytes) return false;
    if (await write(db, row)) return true;
    // The others take this process for lost. It acquires a new lease with its next heartbeat.
    const detail = 'The service has just been out of reach of its database. Try again in a moment.';
    throw new QueryError('unavailable', detail, { retryAfter: 2 });
  });
}

/** Writes the row of a process, if its lease has not ended. */
async function write(db: Db, { owner_key, process, bytes }: Tables['uploads']): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('uploads')
    .columns(['owner_key', 'process', 'bytes'])
    .expression((of) =>
      of
        .selectFrom('processes')
        .where('id', '=', process)
        .select([
          sql<string>`${owner_key}::text`.as('owner_key'),
          'id as process',
          sql<number>`${bytes}::bigint`.as('bytes'),
        ]),
    )
    .onConflict((conflict) =>
      conflict.columns(['owner_key', 'process']).doUpdateSet((of) => ({ bytes: of.ref('excluded.bytes') })),
    )
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}
