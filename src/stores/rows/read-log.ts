import { type SelectQueryBuilder, sql } from 'kysely';
import {
  cursorExpired,
  KeptAnswer,
  type LogSlice,
  QueryError,
  runNotFound,
  type TurnAnswer,
} from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import type { Driver } from '../drivers/driver.js';
import { Statement } from '../drivers/row-statement.js';
import type { Db, Tables } from '../schema/tables.js';
import { Batches } from './batches.js';
import { isRunId } from './run-rows.js';

/** The most characters that one read of a log returns, unless its first envelope is longer. */
const SLICE_LENGTH = 64 * 1024;

/** The most rows that one statement reads of one log. It limits the reads of logs whose envelopes were committed one by one. */
const ROWS = 1_000;

/** The same for a statement that reads many logs. */
const ROWS_OF_EACH = 200;

const BATCH = 64;

/** How many statements of a process read at the same time. Others would wait for connections that admissions need. */
const STATEMENTS = 2;

/** The first and the last number of envelopes that are void. */
export type VoidRange = [first: number, last: number];

/** The ranges of void envelopes, as the column `void` has them. */
export function voidRanges(column: string | null): VoidRange[] {
  return column === null ? [] : (JSON.parse(column) as VoidRange[]);
}

interface Read {
  owner: string;
  runId: string;
  after: number;
  key: string;
}

/**
 * Reads logs from the database. Equal reads share a result: the followers of a run in this process read its log once. On a
 * shared database, many logs are read with one statement.
 */
export class LogReader {
  /** The reads that wait for their batch. */
  readonly #waiting = new Map<string, Promise<LogSlice | QueryError>>();
  readonly #batches: Batches<Read, LogSlice | QueryError>;

  constructor(private readonly database: Database) {
    this.#batches = new Batches(
      (reads) => this.#readBatch(reads),
      () => 0,
      BATCH,
      STATEMENTS,
    );
  }

  /**
   * Reads the envelopes after a cursor.
   *
   * @throws {QueryError} `not_found` · `cursor_expired`
   */
  async read(owner: string, runId: string, after: number): Promise<LogSlice> {
    if (!isRunId(runId)) throw runNotFound();
    const key = JSON.stringify([owner, runId, after]);
    const waiting = this.#waiting.get(key) ?? this.#batches.add({ owner, runId, after, key });
    this.#waiting.set(key, waiting);
    const slice = await waiting;
    if (slice instanceof QueryError) throw slice;
    return slice;
  }

  async #readBatch(reads: Read[]): Promise<(LogSlice | QueryError)[]> {
    for (const { key } of reads) this.#waiting.delete(key);
    // `persist`, because a follower waits for the end of an outage, as the run itself does.
    const { driver } = this.database;
    const found = driver.isShared
      ? await this.database.persist((db) => findTogether(db, driver, reads))
      : await Promise.all(reads.map((read) => this.database.persist((db) => find(db, read))));
    return reads.map(({ after }, index) => sliceOf(found[index]!, after));
  }
}

/** What a read finds: the run, if it exists, and the segments after the cursor. */
type Found = Awaited<ReturnType<typeof find>>;

function sliceOf([run, segments]: Found, after: number): LogSlice | QueryError {
  if (!run) return runNotFound();
  const latest = run.last_seq ?? run.newest_seq ?? 0;
  const first = after + 1;
  const hasEnded = run.ended_at !== null;
  const asking = run.status === 'input_required' ? { asks: true } : {};
  if (after >= latest) {
    const endOffset = run.log_end ?? 0;
    return { first, count: 0, lines: '', endOffset, ended: hasEnded, newest: true, ...asking };
  }
  const [head, ...rest] = segments;
  // Everything before the segment was trimmed.
  if (!head || head.first > first) return cursorExpired(after, head?.first ?? latest + 1, latest);

  const texts = [linesFrom(head.envelopes, first - head.first)];
  let { last, end_offset: endOffset } = head;
  let { length } = texts[0]!;
  for (const segment of rest) {
    length += segment.envelopes.length;
    if (length > SLICE_LENGTH) break;
    texts.push(segment.envelopes);
    ({ last, end_offset: endOffset } = segment);
  }
  return {
    first,
    count: last - after,
    lines: texts.join('\n'),
    endOffset,
    ended: hasEnded && last === latest,
    ...(last === latest && { newest: true, ...asking }),
  };
}

function linesFrom(lines: string, index: number): string {
  return lines.split('\n').slice(index).join('\n');
}

const HEAD = ['runs.status', 'runs.ended_at', 'runs.last_seq', 'newest_seq', 'log_end'] as const;

type Log = SelectQueryBuilder<Tables, 'log', object>;

function newestOf(log: Log) {
  return log
    .select(['log.last as newest_seq', 'log.end_offset as log_end'])
    .orderBy('log.last', 'desc')
    .limit(1);
}

/** The next segments after a cursor, as many as one slice may need. */
function nextSegments(segments: Log, limit: number) {
  const ordered = segments.orderBy('log.last');
  const start = ordered.select('log.start_offset').limit(1);
  return ordered
    .select(['first', 'last', 'end_offset', 'envelopes'])
    .where((of) => of('log.start_offset', '<', of(start, '+', SLICE_LENGTH)))
    .limit(limit);
}

/** Passes both statements at once. The next read finds what is committed between them. */
function find(db: Db, { owner, runId, after }: Read) {
  const log = db.selectFrom('log').where('log.run_id', '=', runId);
  const run = db
    .selectFrom('runs')
    .leftJoin(newestOf(log).as('newest'), (on) => on.onTrue())
    .select(HEAD)
    .where('runs.id', '=', runId)
    .where('runs.owner', '=', JSON.stringify(owner));
  return Promise.all([
    run.executeTakeFirst(),
    nextSegments(log.where('log.last', '>', after), ROWS).execute(),
  ]);
}

type FoundRow = NonNullable<Found[0]> & { n: number } & (Found[1][number] | { last: null });

/** For Postgres: SQLite has no lateral join. */
const finding = new Statement<Read[]>((db, place) => {
  const owners = place((reads) => reads.map(({ owner }) => JSON.stringify(owner)));
  const ids = place((reads) => reads.map(({ runId }) => runId));
  const cursors = place((reads) => reads.map(({ after }) => after));
  const asked = sql<{ owner: string; id: string; after: number; n: number }>`
    unnest(${owners}::text[], ${ids}::text[], ${cursors}::bigint[]) with ordinality`;
  return db
    .selectFrom(asked.as<'asked'>(sql`asked(owner, id, after, n)`))
    .innerJoin('runs', (on) => on.onRef('runs.id', '=', 'asked.id').onRef('runs.owner', '=', 'asked.owner'))
    .leftJoinLateral(
      (of) => newestOf(of.selectFrom('log').whereRef('log.run_id', '=', 'runs.id')).as('newest'),
      (on) => on.onTrue(),
    )
    .leftJoinLateral(
      (of) => {
        const log = of.selectFrom('log').whereRef('log.run_id', '=', 'runs.id');
        return nextSegments(log.whereRef('log.last', '>', 'asked.after'), ROWS_OF_EACH).as('segment');
      },
      (on) => on.onTrue(),
    )
    .select('n')
    .select(HEAD)
    .select(['first', 'last', 'segment.end_offset', 'envelopes'])
    .orderBy('n')
    .orderBy('last');
});

/** Finds what many reads need, with one statement. */
async function findTogether(db: Db, driver: Driver, reads: Read[]): Promise<Found[]> {
  const rows = await finding.execute<FoundRow>(db, driver, reads);
  const found = reads.map((): Found => [undefined, []]);
  for (const row of rows) {
    const read = found[row.n - 1]!;
    read[0] = row;
    if (row.last !== null) read[1].push(row);
  }
  return found;
}

/** Reads what a turn keeps of a run's answer, as far as the log has it, without the void envelopes. */
export async function readAnswer(db: Db, runId: string, voids: VoidRange[]): Promise<TurnAnswer> {
  const answer = new KeptAnswer();
  for (let after = 0; !answer.isFull;) {
    const log = db.selectFrom('log').where('log.run_id', '=', runId);
    const segments = await nextSegments(log.where('log.last', '>', after), ROWS).execute();
    if (segments.length === 0) break;
    for (const { first, envelopes } of segments) answer.addLines(envelopes, first, voids);
    after = segments.at(-1)!.last;
  }
  return answer.value;
}
