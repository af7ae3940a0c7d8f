import { Logger } from '@nestjs/common';
import type { Database } from '../drivers/database.js';
import type { Driver } from '../drivers/driver.js';
import { Statement } from '../drivers/row-statement.js';
import type { Db } from '../schema/tables.js';
import { insertSegments, joined, readLogExtent, type Segment } from './segments.js';

/**
 * The journal of a file. A row of the table `log` is on a page of its run, so a commit of a thousand runs would write a
 * thousand pages. Such a commit writes one row here instead. What a run has here is moved into its log when it is long enough
 * to be worth a page, when it has been here for some time, when the run ends or pauses, and before anybody reads it from the
 * database; the tail in memory has it until then. A start moves what the last process has left.
 *
 * A row is deleted when all of it was moved. A log is always moved from its beginning on, in the transaction that writes what
 * follows it: so the log of a run in its table has no gaps, and what it lacks is here.
 */

/** A commit of more runs than this writes to the journal. */
const FEW_RUNS = 16;

/**
 * What is so long, in characters, is moved, and what has been here for so long: a few runs of each with a commit, because many
 * runs get there at the same time. What is longer than `mostLength` is moved at once.
 */
const MOVED = { length: 4 * 1024, afterMs: 5_000, atOnce: 16, mostLength: 64 * 1024 };

/** What a run has in the journal. */
interface Journaled {
  segments: Segment[];
  length: number;
  /** The oldest row with a part of it, and when that was written (`performance.now`). */
  row: number;
  since: number;
}

/** What a commit writes. */
export interface Move {
  /** Segments of the table `log`. */
  rows: Segment[];
  /** The new row of the journal. */
  journaled: Segment[];
  row: number;
  /** The runs of which nothing is in the journal afterwards. */
  moved: ReadonlySet<string>;
  /** Rows with smaller numbers are deleted. */
  oldest: number;
}

const inserting = new Statement<Move>((db, place) =>
  db
    .insertInto('journal')
    .values({
      number: place(({ row }) => row),
      segments: place(({ journaled }) => JSON.stringify(journaled)),
    })
    // This may be a repetition.
    .onConflict((conflict) => conflict.doNothing()),
);

const deleting = new Statement<Move>((db, place) =>
  db.deleteFrom('journal').where(
    'number',
    '<',
    place(({ oldest }) => oldest),
  ),
);

export class Journal {
  /** By run, in the order of their oldest rows. */
  readonly #journaled = new Map<string, Journaled>();
  #rows = 0;
  /** The oldest row that may not be deleted. */
  #oldest = 1;

  has(runId: string): boolean {
    return this.#journaled.has(runId);
  }

  /** The runs that have a part in it. */
  get runIds(): Iterable<string> {
    return this.#journaled.keys();
  }

  /** Whether the table has no rows. */
  get isEmpty(): boolean {
    return this.#oldest > this.#rows;
  }

  /**
   * Decides where a commit writes.
   *
   * @param segments the new ones, those of a run one after another
   * @param whole the runs of which nothing may stay in the journal
   */
  plan(segments: Segment[], whole: Iterable<string>): Move {
    const news = new Map<string, Segment[]>();
    for (const segment of segments) {
      const ofRun = news.get(segment.run_id);
      if (ofRun) ofRun.push(segment);
      else news.set(segment.run_id, [segment]);
    }
    const moved = new Set([...this.#old(), ...whole]);
    let long = 0;
    for (const [runId, own] of news) {
      const length = this.#lengthWith(runId, own);
      const isLong = length > MOVED.mostLength || (length >= MOVED.length && long++ < MOVED.atOnce);
      if (news.size <= FEW_RUNS || isLong) moved.add(runId);
    }
    const journaled = [...news].flatMap(([runId, own]) => (moved.has(runId) ? [] : own));
    const row = this.#rows + 1;
    return {
      rows: [...moved].flatMap((runId) =>
        joined([...(this.#journaled.get(runId)?.segments ?? []), ...(news.get(runId) ?? [])]),
      ),
      ...{ journaled, row, moved },
      oldest: this.#oldestWithout(moved) ?? row,
    };
  }

  /** Passes the statements in the tick in which it is called. */
  async write(db: Db, driver: Driver, move: Move): Promise<void> {
    await Promise.all([
      insertSegments(db, driver, move.rows),
      move.journaled.length > 0 && inserting.execute(db, driver, move),
      move.oldest > this.#oldest && deleting.execute(db, driver, move),
    ]);
  }

  /** What was planned is committed. */
  written({ journaled, row, moved, oldest }: Move): void {
    for (const runId of moved) this.#journaled.delete(runId);
    for (const segment of journaled) {
      const before = this.#journaled.get(segment.run_id);
      const own = before ?? { segments: [], length: 0, row, since: performance.now() };
      own.segments.push(segment);
      own.length += segment.envelopes.length;
      if (!before) this.#journaled.set(segment.run_id, own);
    }
    if (journaled.length > 0) this.#rows = row;
    this.#oldest = oldest;
  }

  *#old(): Generator<string> {
    const before = performance.now() - MOVED.afterMs;
    let left = MOVED.atOnce;
    for (const [runId, { since }] of this.#journaled) {
      if (since > before || left-- === 0) return;
      yield runId;
    }
  }

  #lengthWith(runId: string, news: Segment[]): number {
    const before = this.#journaled.get(runId)?.length ?? 0;
    return news.reduce((sum, { envelopes }) => sum + envelopes.length, before);
  }

  #oldestWithout(moved: ReadonlySet<string>): number | undefined {
    for (const [runId, { row }] of this.#journaled) if (!moved.has(runId)) return row;
    return undefined;
  }
}

/** Moves what the last process has left in the journal into the logs. Runs that have ended need nothing of it. */
export async function moveAll(database: Database): Promise<void> {
  const { driver } = database;
  if (driver.isShared) return;
  await database.attemptTransaction(async (db) => {
    const rows = await db.selectFrom('journal').selectAll().orderBy('number').execute();
    for (const { number, segments } of rows) {
      try {
        for (const segment of JSON.parse(segments) as Segment[]) await move(db, driver, segment);
      } catch (error) {
        const message = `Row ${number} of the journal is damaged. Runs go on from what is left of their logs.`;
        new Logger('Journal').error(message, (error as Error).stack);
      }
    }
    if (rows.length > 0) await db.deleteFrom('journal').execute();
  });
}

async function move(db: Db, driver: Driver, segment: Segment): Promise<void> {
  const run = await db
    .selectFrom('runs')
    .select('id')
    .where('id', '=', segment.run_id)
    .where('ended_at', 'is', null)
    .executeTakeFirst();
  const { last } = await readLogExtent(db, segment.run_id);
  // It may have been moved before.
  if (run && segment.first === last + 1) await insertSegments(db, driver, [segment]);
}
