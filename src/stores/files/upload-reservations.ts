import { QueryError } from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import { keyOf } from '../schema/keys.js';

/**
 * Reserves bytes of files in transit for an owner, on a database that processes share: a row for each process and owner. The
 * rows of a process are gone when its lease ends. See `RunStore.reserveUploads`.
 */
export function reserveUploads(
  database: Database,
  process: string,
  owner: string,
  bytes: number,
  maxBytes: number,
): Promise<boolean> {
  const ownerKey = keyOf(owner, 'uploads');
  return database.attempt(async (db) => {
    if (bytes === 0) {
      const own = db.deleteFrom('uploads').where('owner_key', '=', ownerKey).where('process', '=', process);
      await own.execute();
      return true;
    }
    // Two processes must not count the same bytes and both add to them.
    await database.driver.lock(db, `uploads ${ownerKey}`);
    // With a lock that delays the end of the lease.
    const lease = await db
      .selectFrom('processes')
      .select((of) =>
        of
          .selectFrom('uploads')
          .where('owner_key', '=', ownerKey)
          .where('process', '!=', process)
          .select((uploads) => uploads.fn.sum<string | null>('bytes').as('bytes'))
          .as('others'),
      )
      .where('id', '=', process)
      .forKeyShare()
      .executeTakeFirst();
    if (!lease) {
      // The others take this process for lost. It acquires a new lease with its next heartbeat.
      const detail = 'The service has just been out of reach of its database. Try again in a moment.';
      throw new QueryError('unavailable', detail, { retryAfter: 2 });
    }
    if (Number(lease.others) + bytes > maxBytes) return false;
    await db
      .insertInto('uploads')
      .values({ process, owner_key: ownerKey, bytes })
      .onConflict((conflict) => conflict.columns(['owner_key', 'process']).doUpdateSet({ bytes }))
      .execute();
    return true;
  }, 'transaction');
}
