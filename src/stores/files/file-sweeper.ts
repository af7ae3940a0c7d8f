import type { ExpressionBuilder } from 'kysely';
import type { Database } from '../drivers/database.js';
import { pageOf, totalOf } from '../drivers/totals.js';
import type { Db, Tables } from '../schema/tables.js';
import type { SqlFileStore } from './sql-file-store.js';

/** How many contents one statement selects, and how many uses of a content one statement removes. */
const BATCH = 100;

/**
 * How long a content stays pinned for a query that is not admitted, in milliseconds. After that the query counts as
 * abandoned: its process was killed before the admission.
 */
const PIN_MS = 60 * 60_000;

/** Drops contents of files: old ones, the oldest of too many, unused ones, and remains of processes that are gone. */
export class FileSweeper {
  constructor(
    private readonly database: Database,
    private readonly files: SqlFileStore,
    private readonly retention: { fileMs: number; filesBytes: number },
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
    for (;;) {
      const contents = await this.database.attempt((db) =>
        oldest(db).where('completed_at', '<', before).execute(),
      );
      if (contents.length === 0) return;
      for (const { sha256 } of contents) await this.#drop(sha256);
    }
  }

  async #dropExcess(): Promise<void> {
    let excess = (await totalOf(this.database, 'contents')) - this.retention.filesBytes;
    while (excess > 0) {
      const contents = await this.database.attempt((db) => oldest(db).execute());
      if (contents.length === 0) return;
      for (const { sha256, size } of contents) {
        if (excess <= 0) return;
        await this.#drop(sha256);
        excess -= size;
      }
    }
  }

  /** Drops a content, unless an unfinished run or a query needs it since a moment ago. */
  async #drop(sha256: string): Promise<void> {
    while (await this.database.attempt((db) => removeUses(db, sha256)));
    await this.files.removeIfUnused(sha256);
  }

  async #removeUnused(): Promise<void> {
    for (let after = ''; ;) {
      const contents = await this.database.attempt((db) => unusedAfter(db, after, pageOf(this.database)));
      for (const { sha256, is_used } of contents) if (!is_used) await this.files.removeIfUnused(sha256);
      if (contents.length === 0) return;
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

/** The uses that keep a content, whatever its age: those of unfinished runs and of queries that have pinned it. */
function needed(content: ExpressionBuilder<Tables, 'contents'>) {
  return content
    .selectFrom('file_uses')
    .select('file_uses.sha256')
    .whereRef('file_uses.sha256', '=', 'contents.sha256')
    .where((of) =>
      of.or([
        of('pinned_at', 'is not', null),
        of.exists(
          of
            .selectFrom('runs')
            .select('runs.id')
            .whereRef('runs.id', '=', 'file_uses.run_id')
            .where('runs.ended_at', 'is', null),
        ),
      ]),
    );
}

/** The oldest complete contents that nothing needs. */
function oldest(db: Db) {
  return db
    .selectFrom('contents')
    .select(['sha256', 'size'])
    .where('completed_at', 'is not', null)
    .where((of) => of.not(of.exists(needed(of))))
    .orderBy('completed_at')
    .limit(BATCH);
}

/** Removes uses of a content by turns and ended runs. Returns whether there may be more. */
async function removeUses(db: Db, sha256: string): Promise<boolean> {
  const runs = db
    .selectFrom('file_uses')
    .leftJoin('runs', 'runs.id', 'file_uses.run_id')
    .select('file_uses.run_id')
    .where('sha256', '=', sha256)
    .where('pinned_at', 'is', null)
    .where((of) => of.or([of('runs.id', 'is', null), of('runs.ended_at', 'is not', null)]))
    .limit(BATCH);
  const { numDeletedRows } = await db
    .deleteFrom('file_uses')
    .where('sha256', '=', sha256)
    .where('run_id', 'in', runs)
    .executeTakeFirst();
  return numDeletedRows === BigInt(BATCH);
}

/**
 * Of a page of complete contents behind a digest: those that nothing uses, and the last one.
 *
 * @param page how many contents it has at most
 */
function unusedAfter(db: Db, after: string, page: number) {
  const isUsed = (of: ExpressionBuilder<Tables & { page: { sha256: string } }, 'page'>) =>
    of.exists(
      of.selectFrom('file_uses').select('file_uses.sha256').whereRef('file_uses.sha256', '=', 'page.sha256'),
    );
  return db
    .with('page', (of) =>
      of
        .selectFrom('contents')
        .select('sha256')
        .where('completed_at', 'is not', null)
        .where('sha256', '>', after)
        .orderBy('sha256')
        .limit(page),
    )
    .selectFrom('page')
    .select((of) => ['sha256', isUsed(of).as('is_used')])
    .where((of) => {
      const last = of.selectFrom('page as all').select((all) => all.fn.max('all.sha256').as('last'));
      return of.or([of.not(isUsed(of)), of('sha256', '=', last)]);
    })
    .orderBy('sha256')
    .execute();
}
