import { randomUUID } from 'node:crypto';
import { FileStore, storageFull } from '../../query/index.js';
import type { ContentPlace } from './content-storage.js';
import type { Database } from '../drivers/database.js';
import type { Db } from '../schema/tables.js';

const BATCH = 100;
/** A query that took hold of contents and was not admitted within this time was lost on the way. In milliseconds. */
const PIN_MS = 60 * 60_000;

/** How long and how much is kept of files. */
export interface FileLimits {
  /** How long a content is kept after it came, in milliseconds. */
  fileMs: number;
  /** How much is kept of all contents together; beyond it those go that came first. Bytes. */
  filesBytes: number;
}

/**
 * Contents of files: each digest once, its bytes in a place beside the tables, with the runs and turns that need it.
 *
 * A content passes three states: it is written (`completed_at` is null), it is complete, and, when nobody needs it, it is
 * removed (null again) and then forgotten. Who takes hold of one and who gives one up lock its digest, so that nothing is
 * removed that somebody has just found.
 */
export class SqlFileStore extends FileStore {
  constructor(
    private readonly database: Database,
    private readonly place: ContentPlace,
    private readonly process: string,
    private readonly limits: FileLimits,
  ) {
    super();
  }

  async keep(runId: string, sha256: string, content: Blob): Promise<void> {
    const pin = { run_id: runId, sha256, pinned_at: Date.now() };
    await this.database.attempt((db) =>
      db
        .insertInto('file_uses')
        .values(pin)
        .onConflict((conflict) => conflict.columns(['run_id', 'sha256']).doNothing())
        .execute(),
    );
    if (await this.#locked(sha256, (db) => completeId(db, sha256))) return;

    const id = randomUUID();
    const row = {
      id,
      sha256,
      size: content.size,
      created_at: Date.now(),
      completed_at: null,
      process: this.process,
    };
    await this.database.attempt((db) => db.insertInto('contents').values(row).execute());
    try {
      await this.place.write(id, content.stream());
    } catch (error) {
      await this.#remove(id).catch(() => undefined);
      throw isFull(error) ? storageFull(error) : error;
    }
    const isKept = await this.#locked(sha256, async (db) => {
      // Somebody else may have brought the same meanwhile.
      if (await completeId(db, sha256)) return false;
      await db.updateTable('contents').set({ completed_at: Date.now() }).where('id', '=', id).execute();
      return true;
    });
    if (!isKept) await this.#remove(id);
  }

  async release(runId: string): Promise<void> {
    const uses = await this.database.attempt((db) =>
      db.deleteFrom('file_uses').where('run_id', '=', runId).returning('sha256').execute(),
    );
    await this.collect(uses.map(({ sha256 }) => sha256));
  }

  async read(runId: string, sha256: string): Promise<AsyncIterable<Uint8Array> | undefined> {
    const found = await this.database.attempt((db) =>
      db
        .selectFrom('contents')
        .innerJoin('file_uses', 'file_uses.sha256', 'contents.sha256')
        .select(['contents.id', 'contents.size'])
        .where('file_uses.run_id', '=', runId)
        .where('contents.sha256', '=', sha256)
        .where('completed_at', 'is not', null)
        .executeTakeFirst(),
    );
    return found && this.place.read(found.id, found.size);
  }

  /** Removes those of some contents that nobody needs any more. */
  async collect(digests: string[]): Promise<void> {
    for (const sha256 of digests) {
      const id = await this.database.attempt((db) => completeId(db, sha256));
      if (id !== undefined) await this.#giveUp(id, sha256);
    }
  }

  async #collectAll(): Promise<void> {
    for (;;) {
      const unused = await this.database.attempt((db) =>
        db
          .selectFrom('contents')
          .select(['id', 'sha256'])
          .where('completed_at', 'is not', null)
          .where('sha256', 'not in', db.selectFrom('file_uses').select('file_uses.sha256'))
          .limit(BATCH)
          .execute(),
      );
      for (const { id, sha256 } of unused) await this.#giveUp(id, sha256);
      if (unused.length < BATCH) return;
    }
  }

  /** Drops what is too old, then the oldest of what is too much, and what was lost on the way. */
  async sweep(): Promise<void> {
    const now = Date.now();
    await this.database.attempt((db) =>
      db
        .deleteFrom('file_uses')
        .where('pinned_at', '<', now - PIN_MS)
        .execute(),
    );
    await this.#dropOld(now - this.limits.fileMs);
    await this.#dropExcess();
    await this.#collectAll();
    await this.#removeUnfinished(now - PIN_MS);
  }

  async #dropOld(before: number): Promise<void> {
    await this.database.attempt((db) =>
      db
        .deleteFrom('file_uses')
        .where('sha256', 'in', settled(db).where('completed_at', '<', before).select('sha256'))
        .execute(),
    );
  }

  async #dropExcess(): Promise<void> {
    const total = await this.database.attempt((db) =>
      db
        .selectFrom('contents')
        .select((of) => of.fn.sum<string | number | null>('size').as('bytes'))
        .executeTakeFirst(),
    );
    let excess = Number(total?.bytes ?? 0) - this.limits.filesBytes;
    while (excess > 0) {
      const oldest = await this.database.attempt((db) =>
        settled(db).select(['id', 'sha256', 'size']).orderBy('completed_at').limit(1).executeTakeFirst(),
      );
      if (!oldest) return;
      await this.database.attempt((db) =>
        db.deleteFrom('file_uses').where('sha256', '=', oldest.sha256).execute(),
      );
      await this.#giveUp(oldest.id, oldest.sha256);
      excess -= oldest.size;
    }
  }

  /** Contents that were being written, or removed, by processes that are gone; or by ours, for far too long. */
  async #removeUnfinished(before: number): Promise<void> {
    const unfinished = await this.database.attempt((db) =>
      db
        .selectFrom('contents')
        .select('id')
        .where('completed_at', 'is', null)
        .where((of) =>
          of.or([
            of('created_at', '<', before),
            of('process', 'not in', of.selectFrom('processes').select('processes.id')),
          ]),
        )
        .execute(),
    );
    for (const { id } of unfinished) await this.#remove(id);
  }

  async #giveUp(id: string, sha256: string): Promise<void> {
    const isUnused = await this.#locked(sha256, async (db) => {
      const { numUpdatedRows } = await db
        .updateTable('contents')
        .set({ completed_at: null })
        .where('id', '=', id)
        .where('sha256', 'not in', db.selectFrom('file_uses').select('file_uses.sha256'))
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    });
    if (isUnused) await this.#remove(id);
  }

  async #remove(id: string): Promise<void> {
    await this.place.remove(id);
    await this.database.attempt((db) => db.deleteFrom('contents').where('id', '=', id).execute());
  }

  #locked<T>(sha256: string, work: (db: Db) => Promise<T>): Promise<T> {
    return this.database.attemptTransaction(async (db) => {
      await this.database.backend.lock(db, `content ${sha256}`);
      return work(db);
    });
  }
}

async function completeId(db: Db, sha256: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('contents')
    .select('id')
    .where('sha256', '=', sha256)
    .where('completed_at', 'is not', null)
    .executeTakeFirst();
  return row?.id;
}

/** Complete contents that no run needs which has not ended. */
function settled(db: Db) {
  const needed = db
    .selectFrom('file_uses')
    .leftJoin('runs', 'runs.id', 'file_uses.run_id')
    .select('file_uses.sha256')
    .where((of) =>
      of.or([
        of('pinned_at', 'is not', null),
        of.and([of('runs.id', 'is not', null), of('runs.ended_at', 'is', null)]),
      ]),
    );
  return db
    .selectFrom('contents')
    .where('completed_at', 'is not', null)
    .where('contents.sha256', 'not in', needed);
}

function isFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT';
}
