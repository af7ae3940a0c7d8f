import { FileStore } from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import type { Contents } from './contents.js';

/** The contents of files of a SQL store, with the runs and turns that use them. */
export class SqlFileStore extends FileStore {
  constructor(
    private readonly database: Database,
    private readonly contents: Contents,
  ) {
    super();
  }

  async keep(runId: string, sha256: string, content: Blob): Promise<void> {
    const pin = { run_id: runId, sha256, pinned_at: this.database.now() };
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

  read(runId: string, sha256: string): Promise<AsyncIterable<Uint8Array> | undefined> {
    return this.contents.read(runId, sha256);
  }

  /** Removes the contents with these digests, except for those that a run or a turn still uses. */
  async removeUnused(digests: string[]): Promise<void> {
    for (const sha256 of digests) await this.contents.removeIfUnused(sha256);
  }
}
