import type { Database } from '../drivers/database.js';
import type { Driver } from '../drivers/driver.js';
import type { JournalFiles, JournalRow } from '../drivers/journal-files.js';
import type { Db } from '../schema/tables.js';
import type { LocalRun, Waiting } from './local-run.js';
import { insertSegments, joined, readLogExtent, type Segment, segmentsOf } from '../rows/segments.js';

/**
 * The journal of a file. A row of the table `log` is on a page of its run, so a commit of a thousand runs would write a
 * thousand pages, and even one of a single run is a transaction. Envelopes go to the journal instead, in one row for each commit
 * (`JournalFiles`). The tail in memory has them too. They are moved into the log of their run in these cases: they fill a page,
 * they have been here for some time, something else of the run needs a transaction, or somebody reads the log from the database.
 * A start moves what the last process has left.
 *
 * A log is always moved from its beginning on, in the transaction that writes what follows it: so the log of a run in its table
 * has no gaps, and what it lacks is here.
 */

/**
 * Envelopes of a run are moved if they have `length` characters, or are here for `afterMs`. `atOnce` runs are moved together, or
 * fewer with a transaction that is needed anyway. A commit of many runs moves one of each `ofRuns`, because many get there at the
 * same time. Envelopes of more than `mostLength` characters are moved at once.
 */
const MOVED = { length: 8 * 1024, afterMs: 10_000, atOnce: 16, ofRuns: 16, mostLength: 64 * 1024 };

/** A transaction of so few runs has their envelopes too: their pages cost less than a row of the journal before it. */
const FEW_RUNS = 4;

/** From half of `MOVED.length`, so that a thousand runs that began together are not all moved within half a second. */
const fullLength = () => MOVED.length * (0.5 + Math.random() / 2);

/** What a commit writes. */
export interface Move {
  /** Rows of the table `log`: of the runs that are moved. */
  segments: Segment[];
  /** The new row of the journal, if it gets one. */
  row: JournalRow | undefined;
  /** The runs in the new row that had nothing in the journal before. */
  journaled: LocalRun[];
  /** The runs of which nothing is in the journal afterwards. */
  moved: ReadonlySet<LocalRun>;
}

export class Journal {
  /** Those that have a part in it, in the order of their oldest rows. */
  readonly #runs = new Set<LocalRun>();
  /** Those of them whose parts are long. */
  readonly #full = new Set<LocalRun>();
  #rows = 0;

  constructor(private readonly files: JournalFiles) {}

  /**
   * Decides where a commit writes.
   *
   * @param taken what it has of each run
   * @param isWhole nothing may stay in the journal
   */
  plan(taken: Waiting[], isWhole: boolean): Move {
    const hasTransaction = taken.some((waiting) => waiting.inserted ?? needsLog(waiting));
    const due = isWhole ? new Set(this.#runs) : this.#due(taken.length, hasTransaction);
    const isDirect = isWhole || (hasTransaction && taken.length <= FEW_RUNS);
    const segments: Segment[] = [];
    const parts: string[] = [];
    const journaled: LocalRun[] = [];
    const moved = new Set<LocalRun>();
    for (const waiting of taken) {
      const { run } = waiting;
      const length = waiting.length + run.journaledLength;
      if (due.delete(run) || isDirect || length > MOVED.mostLength || needsLog(waiting)) {
        moved.add(run);
        const news = segmentsOf(run.id, run.logExtent, waiting.envelopes);
        segments.push(...joined([...journaledSegments(run), ...news]));
      } else if (waiting.envelopes.length > 0) {
        if (!run.journaled) journaled.push(run);
        else if (length >= run.journaled.fullLength) this.#full.add(run);
        parts.push(partOf(waiting));
      }
    }
    for (const run of due) {
      moved.add(run);
      segments.push(...joined(journaledSegments(run)));
    }
    const row = parts.length > 0 ? { number: this.#rows + 1, text: parts.join('\n\n') } : undefined;
    return { segments, row, journaled, moved };
  }

  /** What was planned is committed, and not yet in the tails of the runs. */
  written({ row, journaled, moved }: Move): void {
    for (const run of moved) {
      run.journaled = undefined;
      this.#runs.delete(run);
      this.#full.delete(run);
    }
    const number = row?.number ?? this.#rows;
    this.#rows = number;
    for (const run of journaled) {
      const { lastSeq: after, endOffset: afterOffset } = run;
      const since = performance.now();
      run.journaled = { after, afterOffset, fullLength: fullLength(), row: number, since };
      this.#runs.add(run);
    }
    const [oldest] = this.#runs;
    this.files.release(oldest?.journaled!.row ?? number + 1);
  }

  /** The runs that a commit moves although nothing requires it yet. */
  #due(runs: number, hasTransaction: boolean): Set<LocalRun> {
    const atOnce = Math.max(MOVED.atOnce, runs / MOVED.ofRuns);
    const due = new Set<LocalRun>();
    for (const run of this.#full) {
      if (due.size >= atOnce) break;
      due.add(run);
    }
    const before = performance.now() - MOVED.afterMs;
    for (const run of this.#runs) {
      if (due.size >= atOnce || run.journaled!.since > before) break;
      due.add(run);
    }
    return due.size >= MOVED.atOnce || hasTransaction ? due : new Set();
  }
}

/** Whether the transaction that stores something else of a run must have all of its log. */
function needsLog({ used, checkpoint, ending, isMoved }: Waiting): boolean {
  return Boolean(used ?? checkpoint ?? ending ?? isMoved);
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

/** A part of a row: a line with the number of the first envelope, where that begins, and the run; the envelopes. */
function partOf({ run: { lastSeq, endOffset, id }, envelopes }: Waiting): string {
  return `${lastSeq + 1} ${endOffset} ${id}\n${envelopes.join('\n')}`;
}

/** The opposite of `partOf`, for all parts of a row. */
function segmentsIn(text: string): Segment[] {
  return text.split('\n\n').flatMap((part) => {
    const [head, ...envelopes] = part.split('\n');
    const [first, startOffset, ...others] = head!.split(' ');
    const log = { last: Number(first) - 1, endOffset: Number(startOffset) };
    return segmentsOf(others.at(-1) ?? '', log, envelopes);
  });
}

/** Moves what the last process has left in the journal into the logs. Runs that have ended need nothing of it. */
export async function moveAll(database: Database): Promise<void> {
  const { driver } = database;
  const { journal } = driver;
  if (!journal) return;
  const rows = await database.attempt(() => journal.read());
  await database.attempt(async (db) => {
    // An earlier version had the journal in this table.
    const earlier = await db.selectFrom('journal').select('segments as text').orderBy('number').execute();
    const left = new Map<string, Segment[]>();
    for (const { text } of [...earlier, ...rows]) {
      for (const segment of segmentsIn(text)) {
        const segments = left.get(segment.run_id);
        if (segments) segments.push(segment);
        else left.set(segment.run_id, [segment]);
      }
    }
    for (const [runId, segments] of left) await move(db, driver, runId, segments);
    if (earlier.length > 0) await db.deleteFrom('journal').execute();
  }, 'transaction');
  await database.attempt(() => journal.clear());
}

async function move(db: Db, driver: Driver, runId: string, segments: Segment[]): Promise<void> {
  const run = db.selectFrom('runs').select('id').where('id', '=', runId).where('ended_at', 'is', null);
  if (!(await run.executeTakeFirst())) return;
  let { last } = await readLogExtent(db, runId);
  // Others were moved before, or follow what is damaged.
  const next = segments.filter((segment) => {
    if (segment.first !== last + 1) return false;
    last = segment.last;
    return true;
  });
  await insertSegments(db, driver, joined(next));
}
