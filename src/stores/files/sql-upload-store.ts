import { randomUUID } from 'node:crypto';
import {
  type SentContent,
  type TurnFile,
  unusedFilesExceeded,
  UPLOAD_MS,
  UploadStore,
} from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import { isDigest, keyOf, ownerHashOf } from '../schema/keys.js';
import type { Db } from '../schema/tables.js';
import type { ContentStorage } from './content-storage.js';
import { insertFiles, type SqlFileStore } from './sql-file-store.js';

/** What begins the ids by which uploads use contents. No id of a run has a space. */
const UPLOAD = 'upload ';

/** What uses the contents of all uploads of an owner, in place of a run. */
function uploadOf(owner: string): string {
  return UPLOAD + keyOf(owner, 'files');
}

/**
 * The files that were sent before their query. An upload uses its content as a run does that is not admitted yet: the content is
 * pinned, until the sweep of files drops old pins.
 */
export class SqlUploadStore extends UploadStore {
  constructor(
    private readonly database: Database,
    private readonly files: SqlFileStore,
    private readonly storage: ContentStorage,
  ) {
    super();
  }

  async keep(owner: string, file: TurnFile, content: Blob, maxBytes: number): Promise<number> {
    const { sha256, size } = file;
    const isKnown = (await this.find(owner, sha256)) !== undefined;
    // Until the owner may have it.
    const user = UPLOAD + randomUUID();
    try {
      await this.files.keep(user, sha256, content, false, !isKnown);
      const id = uploadOf(owner);
      return await this.database.attempt(async (db) => {
        await this.database.driver.lock(db, id);
        const now = this.database.now();
        if ((await unusedBytes(db, owner, now, sha256)) + size > maxBytes)
          throw unusedFilesExceeded(maxBytes);
        await insertFiles(db, owner, id, [file]);
        await db
          .insertInto('file_uses')
          .values({ run_id: id, sha256, pinned_at: now })
          .onConflict((conflict) => conflict.columns(['run_id', 'sha256']).doUpdateSet({ pinned_at: now }))
          .execute();
        return now + UPLOAD_MS;
      }, 'transaction');
    } finally {
      // What cannot be removed now, the sweep removes.
      await this.files.release(user).catch(() => undefined);
    }
  }

  unusedBytes(owner: string): Promise<number> {
    return this.database.attempt((db) => unusedBytes(db, owner, this.database.now()));
  }

  async find(owner: string, sha256: string): Promise<SentContent | undefined> {
    if (!isDigest(sha256)) return undefined;
    const found = await this.database.attempt((db) =>
      kept(db, owner, this.database.now())
        .innerJoin('contents', 'contents.sha256', 'files.sha256')
        .select(['contents.id', 'contents.size'])
        .where('files.sha256', '=', sha256)
        .where('completed_at', 'is not', null)
        .limit(1)
        .executeTakeFirst(),
    );
    if (!found) return undefined;
    const { id, size } = found;
    return { size, read: () => this.storage.read(id, size), open: () => this.storage.open?.(id) };
  }

  async erase(owner: string): Promise<number> {
    const id = uploadOf(owner);
    const erased = await this.database.attempt(async (db) => {
      await this.database.driver.lock(db, id);
      await db.deleteFrom('file_uses').where('run_id', '=', id).execute();
      return db.deleteFrom('files').where('run_id', '=', id).returning('sha256').execute();
    }, 'transaction');
    await this.files.removeUnused(erased.map(({ sha256 }) => sha256));
    return erased.length;
  }
}

/** The files of the runs, turns and uploads of an owner whose contents are kept for them. */
function kept(db: Db, owner: string, now: number) {
  return db
    .selectFrom('files')
    .innerJoin('file_uses', (on) =>
      on.onRef('file_uses.run_id', '=', 'files.run_id').onRef('file_uses.sha256', '=', 'files.sha256'),
    )
    .where('files.owner_hash', '=', ownerHashOf(owner))
    .where('files.owner', '=', JSON.stringify(owner))
    .where((of) => of.or([of('pinned_at', 'is', null), of('pinned_at', '>', now - UPLOAD_MS)]));
}

/** @param except a digest that is not counted */
async function unusedBytes(db: Db, owner: string, now: number, except = ''): Promise<number> {
  const id = uploadOf(owner);
  const used = kept(db, owner, now).select('files.sha256').where('files.run_id', '!=', id);
  const { bytes } = await kept(db, owner, now)
    .where('files.run_id', '=', id)
    .where('files.sha256', '!=', except)
    .where('files.sha256', 'not in', used)
    .select((of) => of.fn.sum<string | null>('files.size').as('bytes'))
    .executeTakeFirstOrThrow();
  return Number(bytes);
}

/** Removes the uploads that were sent before a time, and what is left of queries that were never admitted. */
export async function removeExpired(db: Db, before: number): Promise<void> {
  const expired = await db
    .deleteFrom('file_uses')
    .where('pinned_at', '<=', before)
    .returning(['run_id', 'sha256'])
    .execute();
  for (const { run_id, sha256 } of expired)
    await db.deleteFrom('files').where('run_id', '=', run_id).where('sha256', '=', sha256).execute();
}
