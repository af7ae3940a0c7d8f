import { randomUUID } from 'node:crypto';
import {
  type AttemptRef,
  type ByteRange,
  type ContentFile,
  FileStore,
  refusalOfFiles,
  type TurnFile,
} from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import type { Work } from '../drivers/driver.js';
import { ownerHashOf } from '../schema/keys.js';
import type { Db } from '../schema/tables.js';
import type { ContentStorage } from './content-storage.js';

/**
 * The contents of files, with the runs and turns that use them. A content is there once for each digest: a row in `contents`, and
 * the bytes in a storage.
 *
 * A content has three states. First it is being written: `completed_at` is null. Then it is complete. When no run and no
 * turn needs it any more, it is being removed: `completed_at` is null again, until the bytes and then the row are gone.
 * A content becomes complete, or stops being complete, under a lock on its digest. So a content that a query has found
 * complete after it pinned the digest is not removed.
 */
export class SqlFileStore extends FileStore {
  constructor(
    private readonly database: Database,
    private readonly storage: ContentStorage,
    private readonly processId: () => string,
  ) {
    super();
  }

  /** @param isWritten whether the content is written also if it is there already. Default false */
  async keep(
    runId: string,
    sha256: string,
    content: Blob,
    isAdmitted = false,
    isWritten = false,
  ): Promise<void> {
    const pin = { run_id: runId, sha256, pinned_at: isAdmitted ? null : this.database.now() };
    await this.database.attempt((db) =>
      db
        .insertInto('file_uses')
        .values(pin)
        .onConflict((conflict) => conflict.columns(['run_id', 'sha256']).doNothing())
        .execute(),
    );
    await this.#store(sha256, content, isWritten);
  }

  async release(runId: string): Promise<void> {
    const uses = await this.database.attempt((db) =>
      db
        .deleteFrom('file_uses')
        .where('run_id', '=', runId)
        // The database may have admitted the run, although its answer was lost.
        .where('pinned_at', 'is not', null)
        .returning('sha256')
        .execute(),
    );
    await this.removeUnused(uses.map(({ sha256 }) => sha256));
  }

  /** Reads a complete content that a run, or the turn of a run, uses, or a range of it; undefined if there is none. */
  async read(
    runId: string,
    sha256: string,
    range?: ByteRange,
  ): Promise<AsyncIterable<Uint8Array> | undefined> {
    const found = await this.#find(runId, sha256);
    return found && this.storage.read(found.id, found.size, range);
  }

  override async open(runId: string, sha256: string): Promise<ContentFile | undefined> {
    const found = this.storage.open && (await this.#find(runId, sha256));
    return found && this.storage.open?.(found.id);
  }

  /**
   * Keeps a file of the answer of an unfinished run.
   *
   * @returns false if the run is not at this attempt, or is not executed by this process: then the file is not kept
   */
  async add(
    { id, owner, attempt }: AttemptRef,
    process: string,
    file: TurnFile,
    content: Blob,
  ): Promise<boolean> {
    await this.keep(id, file.sha256, content);
    const isAdded = await this.database.attempt(async (db) => {
      const run = await db
        .selectFrom('runs')
        .select(['attempt', 'process', 'ended_at'])
        .where('id', '=', id)
        .executeTakeFirst();
      if (!run) return undefined;
      if (run.attempt !== attempt || run.process !== process || run.ended_at !== null) return false;
      await insertFiles(db, owner, id, [file]);
      await db
        .updateTable('file_uses')
        .set({ pinned_at: null })
        .where('run_id', '=', id)
        .where('sha256', '=', file.sha256)
        .execute();
      return true;
    }, 'transaction');
    // The run was erased: nothing else removes the content soon.
    if (isAdded === undefined) await this.release(id);
    return isAdded ?? false;
  }

  /** Removes the complete contents with these digests, as far as there are any and no run and no turn uses them. */
  async removeUnused(digests: string[]): Promise<void> {
    for (const sha256 of digests) {
      const unused = await this.#locked(sha256, (db) =>
        db
          .updateTable('contents')
          .set({ completed_at: null })
          .where('sha256', '=', sha256)
          .where('completed_at', 'is not', null)
          .where((of) => of.not(of.exists(usesOf(db, sha256))))
          .returning('id')
          .executeTakeFirst(),
      );
      if (unused) await this.remove(unused.id);
    }
  }

  /** Removes the bytes and the row of a content that is not complete. */
  async remove(id: string): Promise<void> {
    try {
      await this.storage.remove(id);
    } catch (error) {
      throw refusalOfFiles(error);
    }
    await this.database.attempt((db) => db.deleteFrom('contents').where('id', '=', id).execute());
  }

  /** Stores a content. Unless it is written in any case, it is not where a complete content has its digest. */
  async #store(sha256: string, content: Blob, isWritten: boolean): Promise<void> {
    if (!isWritten && (await this.#locked(sha256, (db) => complete(db, sha256).executeTakeFirst()))) return;

    const id = randomUUID();
    const row = {
      id,
      sha256,
      size: content.size,
      created_at: this.database.now(),
      completed_at: null,
      process: this.processId(),
    };
    await this.database.attempt((db) => db.insertInto('contents').values(row).execute());
    try {
      await this.storage.write(id, content);
    } catch (error) {
      await this.remove(id).catch(() => undefined);
      throw refusalOfFiles(error);
    }
    const { numUpdatedRows } = await this.#locked(sha256, (db) =>
      db
        .updateTable('contents')
        .set({ completed_at: this.database.now() })
        .where('id', '=', id)
        // Another query may have stored the same content in the meantime, or the run may have been erased.
        .where((of) => of.and([of.not(of.exists(complete(db, sha256))), of.exists(usesOf(db, sha256))]))
        .executeTakeFirst(),
    );
    // What cannot be removed now, the sweep removes.
    if (numUpdatedRows === 0n) await this.remove(id).catch(() => undefined);
  }

  #find(runId: string, sha256: string): Promise<{ id: string; size: number } | undefined> {
    // `persist`, because a run reads it, and waits for the end of an outage.
    return this.database.persist((db) =>
      db
        .selectFrom('contents')
        .innerJoin('file_uses', 'file_uses.sha256', 'contents.sha256')
        .select(['contents.id', 'contents.size'])
        .where('file_uses.run_id', '=', runId)
        .where('contents.sha256', '=', sha256)
        .where('completed_at', 'is not', null)
        .executeTakeFirst(),
    );
  }

  #locked<T>(sha256: string, work: Work<T>): Promise<T> {
    return this.database.attempt(async (db) => {
      await this.database.driver.lock(db, `content ${sha256}`);
      return work(db);
    }, 'transaction');
  }
}

function complete(db: Db, sha256: string) {
  return db
    .selectFrom('contents')
    .select('id')
    .where('sha256', '=', sha256)
    .where('completed_at', 'is not', null);
}

function usesOf(db: Db, sha256: string) {
  return db.selectFrom('file_uses').select('run_id').where('sha256', '=', sha256);
}

/** Records the files of a run. A file whose content the run has already is left out. */
export async function insertFiles(db: Db, owner: string, runId: string, files: TurnFile[]): Promise<void> {
  for (const { name, mimeType, size, sha256 } of files) {
    await db
      .insertInto('files')
      .values({
        run_id: runId,
        sha256,
        owner: JSON.stringify(owner),
        owner_hash: ownerHashOf(owner),
        name: JSON.stringify(name),
        mime_type: mimeType,
        size,
      })
      .onConflict((conflict) => conflict.columns(['run_id', 'sha256']).doNothing())
      .execute();
  }
}
