import { sql } from 'kysely';
import { UPLOAD_MS } from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import { rowsAtOnce, totalOf } from '../drivers/totals.js';
import type { Db } from '../schema/tables.js';
import type { SqlFileStore } from './sql-file-store.js';
import { removeExpired } from './sql-upload-store.js';

/** How many contents one statement selects, and how many uses of a content one statement removes. */
const BATCH = 100;

/** Drops contents of files: old ones, the oldest of too many, unused ones, and remains of processes that are gone. */
export class FileSweeper {
  constructor(
    private readonly database: Database,
    private readonly files: SqlFileStore,
    private readonly retention: { fileMs: number; filesBytes: number },
  ) {}

  async sweep(): Promise<void> {
    const now = this.database.now();
    // Uploads that expire, and queries that were not admitted for so long: their process was killed before.
    const abandoned = now - UPLOAD_MS;
    await this.database.attempt((db) => removeExpired(db, abandoned), 'transaction');
    await this.#dropOldest(now - this.retention.fileMs);
    await this.#removeUnused();
    await this.#removeUnfinished(abandoned);
  }

  /** Drops what is older than a time, and more, until the rest is within the limit; but nothing that is needed. */
  async #dropOldest(before: number): Promise<void> {
    let excess = (await totalOf(this.database, 'contents')) - this.retention.filesBytes;
    for (;;) {
      const contents = await this.database.attempt((db) => {
        const oldest = oldestUnneeded(db);
        return (excess > 0 ? oldest : oldest.where('completed_at', '<', before)).execute();
      });
      if (contents.length === 0) return;
      for (const { sha256, size, completed_at } of contents) {
        if (excess <= 0 && completed_at! >= before) break;
        while (await this.database.attempt((db) => removeUses(db, sha256)));
        // It stays if an unfinished run or a query needs it since a moment ago.
        await this.files.removeUnused([sha256]);
        excess -= size;
      }
    }
  }

  async #removeUnused(): Promise<void> {
    for (let after = ''; ;) {
      const contents = await this.database.attempt((db) => unusedAfter(db, after, rowsAtOnce(this.database)));
      if (contents.length === 0) return;
      await this.files.removeUnused(contents.filter(({ is_used }) => !is_used).map(({ sha256 }) => sha256));
      after = contents.at(-1)!.sha256;
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
    for (const { id } of unfinished) await this.files.remove(id);
  }
}

/** The uses of contents, with the runs that have not ended. */
function usesAndRuns(db: Db) {
  return db
    .selectFrom('file_uses')
    .leftJoin('runs', (on) => on.onRef('runs.id', '=', 'file_uses.run_id').on('runs.ended_at', 'is', null));
}

/** The oldest complete contents that nothing needs: no unfinished run, and no query that has pinned them. */
function oldestUnneeded(db: Db) {
  const needs = usesAndRuns(db)
    .select('file_uses.run_id')
    .where('file_uses.sha256', '=', sql.ref<string>('contents.sha256'))
    .where((of) => of.or([of('pinned_at', 'is not', null), of('runs.id', 'is not', null)]));
  return db
    .selectFrom('contents')
    .select(['sha256', 'size', 'completed_at'])
    .where('completed_at', 'is not', null)
    .where((of) => of.not(of.exists(needs)))
    .orderBy('completed_at')
    .limit(BATCH);
}

/** Removes uses of a content by turns and ended runs. Returns whether there may be more. */
async function removeUses(db: Db, sha256: string): Promise<boolean> {
  const runIds = usesAndRuns(db)
    .select('file_uses.run_id')
    .where('sha256', '=', sha256)
    .where('pinned_at', 'is', null)
    .where('runs.id', 'is', null)
    .limit(BATCH);
  const { numDeletedRows } = await db
    .deleteFrom('file_uses')
    .where('sha256', '=', sha256)
    .where('run_id', 'in', runIds)
    .executeTakeFirst();
  return numDeletedRows === BigInt(BATCH);
}

/** Reads a page of complete contents behind a digest: those that nothing uses, and the last one. */
function unusedAfter(db: Db, after: string, page: number) {
  const uses = db
    .selectFrom('file_uses')
    .select('run_id')
    .where('file_uses.sha256', '=', sql.ref<string>('page.sha256'));
  const complete = db
    .selectFrom('contents')
    .select('sha256')
    .where('completed_at', 'is not', null)
    .where('sha256', '>', after)
    .orderBy('sha256')
    .limit(page);
  return db
    .with('page', () => complete)
    .selectFrom('page')
    .select((of) => ['sha256', of.exists(uses).as('is_used')])
    .where((of) => {
      const last = of.selectFrom('page as all').select((all) => all.fn.max('all.sha256').as('last'));
      return of.or([of.not(of.exists(uses)), of('sha256', '=', last)]);
    })
    .orderBy('sha256')
    .execute();
}
