import type { Database } from '../drivers/database.js';
import type { Db } from '../schema/tables.js';
import type { Contents } from './contents.js';

/** How many contents one statement selects. */
const BATCH = 100;

/**
 * How long a content stays pinned for a query that is not admitted, in milliseconds. After that the query counts as
 * abandoned: its process was killed before the admission.
 */
const PIN_MS = 60 * 60_000;

/** How long, and how many, contents of files are kept. */
export interface FileRetention {
  /** How long a content is kept after it was stored, in milliseconds. */
  fileMs: number;
  /** How many bytes of contents are kept. Beyond it the oldest contents are dropped. */
  filesBytes: number;
}

/** Drops contents of files: old ones, the oldest of too many, unused ones, and remains of processes that are gone. */
export class FileSweeper {
  constructor(
    private readonly database: Database,
    private readonly contents: Contents,
    private readonly retention: FileRetention,
  ) {}

  async sweep(): Promise<void> {
    const now = this.database.now();
    await this.database.attempt((db) =>
      db
        .deleteFrom('file_uses')
        .where('pinned_at', '<', now - PIN_MS)
        .execute(),
    );
    await this.#dropOld(now - this.retention.fileMs);
    await this.#dropExcess();
    await this.#removeUnused();
    await this.#removeUnfinished(now - PIN_MS);
  }

  async #dropOld(before: number): Promise<void> {
    await this.database.attempt((db) =>
      db
        .deleteFrom('file_uses')
        .where('sha256', 'in', droppable(db).where('completed_at', '<', before).select('sha256'))
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
    let excess = Number(total?.bytes ?? 0) - this.retention.filesBytes;
    while (excess > 0) {
      const oldest = await this.database.attempt((db) =>
        droppable(db).select(['sha256', 'size']).orderBy('completed_at').limit(1).executeTakeFirst(),
      );
      if (!oldest) return;
      await this.database.attempt((db) =>
        db.deleteFrom('file_uses').where('sha256', '=', oldest.sha256).execute(),
      );
      await this.contents.removeIfUnused(oldest.sha256);
      excess -= oldest.size;
    }
  }

  async #removeUnused(): Promise<void> {
    for (;;) {
      const unused = await this.database.attempt((db) =>
        db
          .selectFrom('contents')
          .select('sha256')
          .where('completed_at', 'is not', null)
          .where('sha256', 'not in', db.selectFrom('file_uses').select('file_uses.sha256'))
          .limit(BATCH)
          .execute(),
      );
      for (const { sha256 } of unused) await this.contents.removeIfUnused(sha256);
      if (unused.length < BATCH) return;
    }
  }

  /** Removes contents that processes which are gone were writing or removing, and those that take far too long. */
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
    for (const { id } of unfinished) await this.contents.remove(id);
  }
}

/** The complete contents that no unfinished run uses and no query has pinned. */
function droppable(db: Db) {
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
