import { sql } from 'kysely';
import { type LogSlice, runNotFound } from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import type { Db } from '../schema/tables.js';
import { expired, SLICE_LENGTH, sliceOf } from './read-log.js';
import type { Segment } from './segments.js';

/** How many logs one statement reads. */
const BATCH = 64;

/** How many statements of a process read at the same time. Others would wait for connections that admissions need. */
const STATEMENTS = 2;

/** How many rows one statement reads of each log. */
const ROWS = 200;

/** A read that waits for its batch, with all who asked for it. */
interface Read {
  owner: string;
  runId: string;
  after: number;
  result: Promise<LogSlice>;
  resolve: (slice: LogSlice) => void;
  reject: (error: unknown) => void;
}

type StoredSegment = Omit<Segment, 'run_id'>;

type Row = { n: number; is_found: boolean; last_seq: number; ended: boolean; log_end: number | null } & {
  [K in keyof StoredSegment]: StoredSegment[K] | null;
};

/**
 * Reads logs that other processes write. Reads of the same tick share a statement, and so do those that come while others are
 * under way: under load the statements become fewer and larger by themselves. Equal reads share a result: the followers of a
 * run in this process read its log once.
 */
export class BatchedReads {
  readonly #next = new Map<string, Read>();
  #isCollecting = false;
  #statements = 0;

  constructor(private readonly database: Database) {}

  /**
   * Reads the envelopes after a cursor.
   *
   * @throws {QueryError} `not_found` · `cursor_expired`
   */
  read(owner: string, runId: string, after: number): Promise<LogSlice> {
    const key = JSON.stringify([owner, runId, after]);
    let read = this.#next.get(key);
    if (!read) {
      let resolve!: Read['resolve'];
      let reject!: Read['reject'];
      const result = new Promise<LogSlice>(
        (onResolve, onReject) => ((resolve = onResolve), (reject = onReject)),
      );
      read = { owner, runId, after, result, resolve, reject };
      this.#next.set(key, read);
      this.#collect();
    }
    return read.result;
  }

  /** Reads after this tick. */
  #collect(): void {
    if (this.#isCollecting) return;
    this.#isCollecting = true;
    queueMicrotask(() => {
      this.#isCollecting = false;
      this.#readNext();
    });
  }

  #readNext(): void {
    while (this.#next.size > 0 && this.#statements < STATEMENTS) {
      const reads = [...this.#next].slice(0, BATCH);
      for (const [key] of reads) this.#next.delete(key);
      this.#statements++;
      void this.#readBatch(reads.map(([, read]) => read)).then(() => {
        this.#statements--;
        this.#collect();
      });
    }
  }

  async #readBatch(reads: Read[]): Promise<void> {
    try {
      // `persist`, because a follower waits for the end of an outage, as the run itself does.
      const rows = await this.database.persist((db) => selectRows(db, reads));
      const rowsOf = reads.map((): Row[] => []);
      for (const row of rows) rowsOf[row.n - 1]!.push(row);
      for (const [index, read] of reads.entries()) await this.#settle(read, rowsOf[index]!);
    } catch (error) {
      for (const { reject } of reads) reject(error);
    }
  }

  async #settle({ runId, after, resolve, reject }: Read, rows: Row[]): Promise<void> {
    const [head] = rows;
    if (!head?.is_found) return reject(runNotFound());
    const { last_seq: lastSeq, ended } = head;
    if (after >= lastSeq) {
      return resolve({ first: after + 1, count: 0, lines: '', endOffset: head.log_end ?? 0, ended });
    }
    const segments = rows.filter((row): row is Row & StoredSegment => row.last !== null);
    if (segments.length > 0 && segments[0]!.first <= after + 1) {
      return resolve(sliceOf(segments, after, { lastSeq, ended }));
    }
    await this.database.persist((db) => expired(db, { id: runId, lastSeq }, after)).then(reject, reject);
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
