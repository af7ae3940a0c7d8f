import { Logger } from '@nestjs/common';
import type { Database } from '../drivers/database.js';
import type { Driver } from '../drivers/driver.js';
import { Statement } from '../drivers/row-statement.js';
import type { Db } from '../schema/tables.js';
import type { LocalRun, Waiting } from './local-run.js';
import { insertSegments, joined, readLogExtent, type Segment, segmentsOf } from './segments.js';

/**
 * The journal of a file. A row of the table `log` is on a page of its run, so a commit of a thousand runs would write a
 * thousand pages. Such a commit writes one row here instead. What a run has here is moved into its log when it is long enough
 * to be worth a page, when it has been here for some time, when the run ends or pauses, and before anybody reads it from the
 * database; the tail in memory has it until then. A start moves what the last process has left.
 *
 * A row is deleted when all of it was moved. A log is always moved from its beginning on, in the transaction that writes what
 * follows it: so the log of a run in its table has no gaps, and what it lacks is here.
 */

/** A commit of more runs than this writes to the journal. So few pages cost less than to write their envelopes twice. */
const FEW_RUNS = 4;

/**
 * What is so long, in characters, is moved, and what has been here for so long: a few runs of each with a commit, or one for each
 * sixteen that the commit has, because many runs get there at the same time. What is longer than `mostLength` is moved at once.
 */
const MOVED = { length: 4 * 1024, afterMs: 5_000, atOnce: 16, ofRuns: 16, mostLength: 64 * 1024 };

/** From half of `MOVED.length`, so that a thousand runs that began together are not all moved within half a second. */
const fullLength = () => MOVED.length * (0.5 + Math.random() / 2);

/** What a commit writes. */
export interface Move {
  /** Rows of the table `log`: of the runs that are moved. */
  segments: Segment[];
  /** The new row of the journal: its number, and its parts, each of one run. */
  row: number;
  parts: string[];
  /** The runs of these parts that had none in the journal before. */
  journaled: LocalRun[];
  /** The runs of which nothing is in the journal afterwards. */
  moved: ReadonlySet<LocalRun>;
  /** Rows with smaller numbers are deleted. Undefined if there are none. */
  oldest: number | undefined;
}

const inserting = new Statement<Move>((db, place) =>
  db
    .insertInto('journal')
    .values({
      number: place(({ row }) => row),
      segments: place(({ parts }) => parts.join('\n\n')),
    })
    // This may be a repetition.
    .onConflict((conflict) => conflict.doNothing()),
);

const deleting = new Statement<Move>((db, place) =>
  db.deleteFrom('journal').where(
    'number',
    '<',
    place(({ oldest }) => oldest!),
  ),
);

/** Passes the statements in the tick in which it is called. */
export async function writeMove(db: Db, driver: Driver, move: Move): Promise<void> {
  await Promise.all([
    move.parts.length > 0 && inserting.execute(db, driver, move),
    move.oldest !== undefined && deleting.execute(db, driver, move),
  ]);
}

export class Journal {
  /** Those that have a part in it, in the order of their oldest rows. */
  readonly #runs = new Set<LocalRun>();
  #rows = 0;
  /** The oldest row that may not be deleted. */
  #oldest = 1;

  /** Whether the table has no rows. */
  get isEmpty(): boolean {
    return this.#oldest > this.#rows;
  }

  /**
   * Decides where a commit writes.
   *
   * @param taken what it has of each run
   * @param isWhole nothing may stay in the journal
   */
  plan(taken: Waiting[], isWhole: boolean): Move {
    const row = this.#rows + 1;
    const atOnce = Math.max(MOVED.atOnce, taken.length / MOVED.ofRuns);
    const others = new Set(isWhole ? this.#runs : this.#old(atOnce));
    const moved = new Set<LocalRun>();
    const move: Move = { segments: [], row, parts: [], journaled: [], moved, oldest: undefined };
    const isMoved = isWhole || taken.length <= FEW_RUNS;
    let long = 0;
    for (const waiting of taken) {
      const { run } = waiting;
      const length = waiting.length + run.journaledLength;
      const isFull = length >= (run.journaled?.fullLength ?? MOVED.length);
      const isLong = length > MOVED.mostLength || (isFull && long++ < atOnce);
      if (others.delete(run) || isMoved || isLong || waiting.isMoved || waiting.ending) {
        moved.add(run);
        const news = segmentsOf(run.id, run.logExtent, waiting.envelopes);
        move.segments.push(...joined([...journaledSegments(run), ...news]));
      } else if (waiting.envelopes.length > 0) {
        if (!run.journaled) move.journaled.push(run);
        move.parts.push(partOf(waiting));
      }
    }
    for (const run of others) {
      moved.add(run);
      move.segments.push(...joined(journaledSegments(run)));
    }
    const oldest = this.#oldestWithout(moved) ?? row;
    if (oldest > this.#oldest) move.oldest = oldest;
    return move;
  }

  /** What was planned is committed, and not yet in the tails of the runs. */
  written({ row, parts, journaled, moved, oldest }: Move): void {
    for (const run of moved) {
      run.journaled = undefined;
      this.#runs.delete(run);
    }
    for (const run of journaled) {
      const { lastSeq: after, endOffset: afterOffset } = run;
      run.journaled = { after, afterOffset, fullLength: fullLength(), row, since: performance.now() };
      this.#runs.add(run);
    }
    if (parts.length > 0) this.#rows = row;
    this.#oldest = oldest ?? this.#oldest;
  }

  *#old(atOnce: number): Generator<LocalRun> {
    const before = performance.now() - MOVED.afterMs;
    let left = atOnce;
    for (const run of this.#runs) {
      if (run.journaled!.since > before || left-- <= 0) return;
      yield run;
    }
  }

  #oldestWithout(moved: ReadonlySet<LocalRun>): number | undefined {
    for (const run of this.#runs) if (!moved.has(run)) return run.journaled!.row;
    return undefined;
  }
}

/** What a run has in the journal, which its tail has too. */
function journaledSegments({ id, journaled, tail }: LocalRun): Segment[] {
  const segments: Segment[] = [];
  if (!journaled) return segments;
  let { after, afterOffset: start } = journaled;
  while (after < tail.last) {
    const { first, count, lines, endOffset } = tail.read(after);
    const offsets = { start_offset: start, end_offset: endOffset };
    segments.push({ run_id: id, first, last: after + count, ...offsets, envelopes: lines });
    after += count;
    start = endOffset;
  }
  return segments;
}

/** A part of a row: a line with the number of the first envelope, where that begins and the last ends, and the run; the envelopes. */
function partOf({ run: { lastSeq, endOffset, id }, envelopes, length }: Waiting): string {
  return `${lastSeq + 1} ${endOffset} ${endOffset + length} ${id}\n${envelopes.join('\n')}`;
}

/** @throws Error the row is damaged, behind the segments that it has returned */
function* segmentsOfRow(text: string): Generator<Segment> {
  // A row of an earlier version is JSON.
  if (text.startsWith('[')) yield* JSON.parse(text) as Segment[];
  else for (const part of text.split('\n\n')) yield* segmentsIn(part);
}

/** @throws Error the part is damaged */
function segmentsIn(part: string): Segment[] {
  const [head, ...envelopes] = part.split('\n');
  const [first, startOffset, endOffset, runId] = head!.split(' ');
  const log = { last: Number(first) - 1, endOffset: Number(startOffset) };
  const segments = segmentsOf(runId ?? '', log, envelopes);
  const last = segments.at(-1);
  if (!last || last.end_offset !== Number(endOffset)) throw new Error(`This part is incomplete: ${head}`);
  return segments;
}

/** Moves what the last process has left in the journal into the logs. Runs that have ended need nothing of it. */
export async function moveAll(database: Database): Promise<void> {
  const { driver } = database;
  if (driver.isShared) return;
  await database.attemptTransaction(async (db) => {
    const rows = await db.selectFrom('journal').selectAll().orderBy('number').execute();
    for (const { number, segments } of rows) {
      try {
        for (const segment of segmentsOfRow(segments)) await move(db, driver, segment);
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
