import { type AttemptRef, type ByteRange, FileStore, type TurnFile } from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import type { StoredContents } from './stored-contents.js';
import { insertFiles } from './run-files.js';

/** The contents of files of a SQL store, with the runs and turns that use them. */
export class SqlFileStore extends FileStore {
  constructor(
    private readonly database: Database,
    private readonly contents: StoredContents,
  ) {
    super();
  }

  async keep(runId: string, sha256: string, content: Blob, isAdmitted = false): Promise<void> {
    const pin = { run_id: runId, sha256, pinned_at: isAdmitted ? null : this.database.now() };
    await this.database.attempt((db) =>
      db
        .insertInto('file_uses')
        .values(pin)
        .onConflict((conflict) => conflict.columns(['run_id', 'sha256']).doNothing())
        .execute(),
    );
    await this.contents.store(sha256, content);
  }

  async release(runId: string): Promise<void> {
    const uses = await this.database.attempt((db) =>
      db.deleteFrom('file_uses').where('run_id', '=', runId).returning('sha256').execute(),
    );
    await this.removeUnused(uses.map(({ sha256 }) => sha256));
  }

  read(runId: string, sha256: string, range?: ByteRange): Promise<AsyncIterable<Uint8Array> | undefined> {
    return this.contents.read(runId, sha256, range);
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
    const isOwned = await this.database.attemptTransaction(async (db) => {
      const run = await db
        .selectFrom('runs')
        .select('id')
        .where('id', '=', id)
        .where('attempt', '=', attempt)
        .where('process', '=', process)
        .where('ended_at', 'is', null)
        .executeTakeFirst();
      if (!run) return false;
      await insertFiles(db, owner, id, [file]);
      await db
        .updateTable('file_uses')
        .set({ pinned_at: null })
        .where('run_id', '=', id)
        .where('sha256', '=', file.sha256)
        .execute();
      return true;
    });
    return isOwned;
  }

  async removeUnused(digests: string[]): Promise<void> {
    for (const sha256 of digests) await this.contents.removeIfUnused(sha256);
  }
}
