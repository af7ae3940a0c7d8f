import { sql } from 'kysely';
import {
  cursorExpired,
  type Envelope,
  KeptAnswer,
  type LogSlice,
  QueryError,
  runNotFound,
  type TurnAnswer,
} from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import type { Db } from '../schema/tables.js';
import type { VoidRange } from './attempts.js';
import { Batches } from './batches.js';
import type { Segment } from './segments.js';

/** The most characters that one read of a log returns, unless its first envelope is longer. */
const SLICE_LENGTH = 64 * 1024;
/** The most rows that one statement reads. It limits the reads of logs whose envelopes were committed one by one. */
const SLICE_ROWS = 1_000;

/**
 * Reads the envelopes after a cursor.
 *
 * @param run `lastSeq` is the number of its newest envelope; `ended` tells whether that is `done`
 * @throws {QueryError} `cursor_expired`
 */
export async function readLog(
  db: Db,
  run: { id: string; lastSeq: number; ended: boolean },
  after: number,
): Promise<LogSlice> {
  const log = db.selectFrom('log').where('run_id', '=', run.id);
  if (after >= run.lastSeq) {
    const newest = await log.select('end_offset').orderBy('last', 'desc').limit(1).executeTakeFirst();
    return { first: after + 1, count: 0, lines: '', endOffset: newest?.end_offset ?? 0, ended: run.ended };
  }
  const following = log.where('last', '>', after).orderBy('last');
  const segments = await following
    .select(['first', 'last', 'start_offset', 'end_offset', 'envelopes'])
    .where((of) => of('start_offset', '<', of(following.select('start_offset').limit(1), '+', SLICE_LENGTH)))
    .limit(SLICE_ROWS)
    .execute();
  const [head] = segments;
  if (!head || head.first > after + 1) throw await expired(db, run, after);

  return sliceOf(segments, after, run);
}

/**
 * Makes a slice of the segments after a cursor.
 *
 * @param segments consecutive; the first one has the envelope after the cursor
 * @param run `lastSeq` is the number of its newest envelope; `ended` tells whether that is `done`
 */
function sliceOf(
  segments: Omit<Segment, 'run_id'>[],
  after: number,
  run: { lastSeq: number; ended: boolean },
): LogSlice {
  const head = segments[0]!;
  const texts = [
    head.envelopes
      .split('\n')
      .slice(after + 1 - head.first)
      .join('\n'),
  ];
  let { last, end_offset: endOffset } = head;
  let { length } = texts[0]!;
  for (const segment of segments.slice(1)) {
    length += segment.envelopes.length;
    if (length > SLICE_LENGTH) break;
    texts.push(segment.envelopes);
    ({ last, end_offset: endOffset } = segment);
  }
  return {
    first: after + 1,
    count: last - after,
    lines: texts.join('\n'),
    endOffset,
    ended: run.ended && last === run.lastSeq,
  };
}

/** Reads what a turn keeps of a run's answer, as far as the log has it, without the void envelopes. */
export async function readAnswer(db: Db, runId: string, voids: VoidRange[]): Promise<TurnAnswer> {
  const answer = new KeptAnswer();
  for (let after = 0; !answer.isFull;) {
    const segments = await db
      .selectFrom('log')
      .select(['first', 'last', 'envelopes'])
      .where('run_id', '=', runId)
      .where('last', '>', after)
      .orderBy('last')
      .limit(SLICE_ROWS)
      .execute();
    if (segments.length === 0) break;
    for (const { first, envelopes } of segments) {
      for (const [index, envelope] of envelopes.split('\n').entries()) {
        const isVoid = voids.some(([from, to]) => first + index >= from && first + index <= to);
        if (!isVoid) answer.add(JSON.parse(envelope) as Envelope, envelope);
      }
    }
    after = segments.at(-1)!.last;
  }
  return answer.value;
}

/** The error of a cursor whose envelopes were trimmed. */
async function expired(db: Db, run: { id: string; lastSeq: number }, after: number): Promise<QueryError> {
  const row = await db
    .selectFrom('log')
    .select((of) => of.fn.min('first').as('first'))
    .where('run_id', '=', run.id)
    .executeTakeFirst();
  const oldest = row?.first ?? run.lastSeq + 1;
  return cursorExpired(after, oldest, run.lastSeq);
}

const BATCH = 64;

/** How many statements of a process read at the same time. Others would wait for connections that admissions need. */
const STATEMENTS = 2;

/** How many rows one statement reads of each log. */
const ROWS = 200;

interface Read {
  owner: string;
  runId: string;
  after: number;
  key: string;
}

type StoredSegment = Omit<Segment, 'run_id'>;

type Row = { n: number; is_found: boolean; last_seq: number; ended: boolean; log_end: number | null } & {
  [K in keyof StoredSegment]: StoredSegment[K] | null;
};

/**
 * Reads logs that other processes write, many with one statement. Equal reads share a result: the followers of a run in this
 * process read its log once.
 */
export class BatchedReads {
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
    const rows = await this.database.persist((db) => selectRows(db, reads));
    const rowsOf = reads.map((): Row[] => []);
    for (const row of rows) rowsOf[row.n - 1]!.push(row);
    return Promise.all(reads.map((read, index) => this.#sliceOf(read, rowsOf[index]!)));
  }

  async #sliceOf({ runId, after }: Read, rows: Row[]): Promise<LogSlice | QueryError> {
    const [head] = rows;
    if (!head?.is_found) return runNotFound();
    const { last_seq: lastSeq, ended } = head;
    if (after >= lastSeq) {
      return { first: after + 1, count: 0, lines: '', endOffset: head.log_end ?? 0, ended };
    }
    const segments = rows.filter((row): row is Row & StoredSegment => row.last !== null);
    if (segments.length > 0 && segments[0]!.first <= after + 1) {
      return sliceOf(segments, after, { lastSeq, ended });
    }
    return this.database.persist((db) => expired(db, { id: runId, lastSeq }, after));
  }
}

/** One row for each segment after each cursor, in order; a row without a segment where there is none. */
function selectRows(db: Db, reads: Read[]): Promise<Row[]> {
  const owners = reads.map(({ owner }) => JSON.stringify(owner));
  const ids = reads.map(({ runId }) => runId);
  const cursors = reads.map(({ after }) => after);
  const asked = sql<{ owner: string; id: string; after: number; n: number }>`
    unnest(${owners}::text[], ${ids}::text[], ${cursors}::bigint[]) with ordinality`;
  return db
    .selectFrom(asked.as<'asked'>(sql`asked(owner, id, after, n)`))
    .leftJoin('runs', (on) => on.onRef('runs.id', '=', 'asked.id').onRef('runs.owner', '=', 'asked.owner'))
    .leftJoinLateral(
      (of) =>
        of
          .selectFrom('log')
          .select(['log.last as newest_seq', 'log.end_offset as log_end'])
          .whereRef('log.run_id', '=', 'runs.id')
          .orderBy('log.last', 'desc')
          .limit(1)
          .as('newest'),
      (on) => on.onTrue(),
    )
    .leftJoinLateral(
      (of) => {
        const following = of
          .selectFrom('log')
          .whereRef('log.run_id', '=', 'runs.id')
          .whereRef('log.last', '>', 'asked.after')
          .orderBy('log.last');
        const first = following.select('log.start_offset').limit(1);
        return following
          .select(['first', 'last', 'start_offset', 'end_offset', 'envelopes'])
          .where((log) => log('log.start_offset', '<', log(first, '+', SLICE_LENGTH)))
          .limit(ROWS)
          .as('segment');
      },
      (on) => on.onTrue(),
    )
    .select(['n', 'log_end', 'first', 'last', 'start_offset', 'end_offset', 'envelopes'])
    .select([
      sql<boolean>`runs.id is not null`.as('is_found'),
      sql<boolean>`runs.ended_at is not null`.as('ended'),
      sql<number>`coalesce(runs.last_seq, newest_seq, 0)`.as('last_seq'),
    ])
    .orderBy('n')
    .orderBy('last')
    .execute();
}
