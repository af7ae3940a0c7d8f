import type { Database } from '../drivers/database.js';
import { keyOf } from '../schema/keys.js';

/**
 * The bytes of files in transit that processes have reserved for owners: a row for each process and owner. The rows of a process
 * are gone when its lease ends.
 */
export class UploadReservations {
  constructor(
    private readonly database: Database,
    private readonly processId: () => string,
  ) {}

  /** See `RunStore.reserveUploads`. */
  reserve(owner: string, bytes: number, maxBytes: number): Promise<boolean> {
    const row = { process: this.processId(), owner_key: keyOf(owner, 'uploads'), bytes };
    return this.database.attemptTransaction(async (db) => {
      // Two processes must not count the same bytes and both add to them.
      await this.database.driver.lock(db, `uploads ${row.owner_key}`);
      const others = await db
        .selectFrom('uploads')
        .where('owner_key', '=', row.owner_key)
        .where('process', '!=', row.process)
        .select((of) => of.fn.sum<string | number | null>('bytes').as('bytes'))
        .executeTakeFirstOrThrow();
      if (bytes > 0 && Number(others.bytes) + bytes > maxBytes) return false;
      const own = db
        .deleteFrom('uploads')
        .where('process', '=', row.process)
        .where('owner_key', '=', row.owner_key);
      await own.execute();
      if (bytes > 0) await db.insertInto('uploads').values(row).execute();
      return true;
    });
  }
}
