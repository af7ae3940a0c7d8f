import { sql } from 'kysely';
import type { Db, Tables } from '../schema/tables.js';
import { selectLeases } from './lease.js';

/** A segment that has this many characters is complete; the next envelope begins another one. */
const SEGMENT_LENGTH = 64 * 1024;

/** How many rows one statement inserts. With six parameters each, they are far below the limits of both databases. */
export const ROWS_PER_STATEMENT = 500;

/** A row of the table `log`: consecutive envelopes of a run, stored as one text. */
export type Segment = Tables['log'];

/**
 * Makes the segments that continue a log.
 *
 * @param run `lastSeq` and `endOffset` tell where its committed log ends
 * @param envelopes JSON texts
 */
export function segmentsOf(
  run: { id: string; lastSeq: number; endOffset: number },
  envelopes: string[],
): Segment[] {
  const segments: Segment[] = [];
  let last = run.lastSeq;
  let { endOffset } = run;
  let startOffset = endOffset;
  let texts: string[] = [];
  const close = () => {
    if (texts.length === 0) return;
    segments.push({
      run_id: run.id,
      first: last - texts.length + 1,
      last,
      start_offset: startOffset,
      end_offset: endOffset,
      envelopes: texts.join('\n'),
    });
    texts = [];
    startOffset = endOffset;
  };
  for (const envelope of envelopes) {
    texts.push(envelope);
    last++;
    endOffset += envelope.length;
    if (endOffset - startOffset >= SEGMENT_LENGTH) close();
  }
  close();
  return segments;
}

/** Inserts segments. It is repeatable: segments that an earlier attempt has inserted are left as they are. */
export async function insertSegments(db: Db, segments: Segment[]): Promise<void> {
  for (let i = 0; i < segments.length; i += ROWS_PER_STATEMENT) {
    await db
      .insertInto('log')
      .values(segments.slice(i, i + ROWS_PER_STATEMENT))
      .onConflict((conflict) => conflict.columns(['run_id', 'last']).doNothing())
      .execute();
  }
}

/**
 * Inserts segments in one statement, if all these leases are valid. They cannot end before the statement has ended. It is
 * repeatable, as `insertSegments` is. For Postgres: SQLite has no data-modifying `with`.
 *
 * @param segments up to `ROWS_PER_STATEMENT`
 * @returns the leases that have ended. If there is one, nothing was inserted
 */
export async function insertSegmentsUnder(db: Db, leases: string[], segments: Segment[]): Promise<string[]> {
  const rows = segments.map(
    (of) => sql`(${of.run_id}, ${of.first}::bigint, ${of.last}::bigint, ${of.start_offset}::bigint,
      ${of.end_offset}::bigint, ${of.envelopes})`,
  );
  const isValid = sql`(select count(*) from leased) = ${leases.length}`;
  const valid = await db
    .with('leased', (of) => selectLeases(of, leases).forKeyShare())
    .with('inserted', (of) =>
      of
        .insertInto('log')
        .columns(['run_id', 'first', 'last', 'start_offset', 'end_offset', 'envelopes'])
        .expression(sql`select * from (values ${sql.join(rows)}) as segment where ${isValid}`)
        .onConflict((conflict) => conflict.columns(['run_id', 'last']).doNothing())
        .returning('run_id'),
    )
    .selectFrom('leased')
    .select('id')
    .execute();
  return leases.filter((lease) => !valid.some(({ id }) => id === lease));
}

/** Where a log ends, and how much of it is kept. */
export interface LogExtent {
  /** The number of the newest envelope; 0 for an empty log. */
  last: number;
  /** Characters of JSON since the beginning of the log. */
  endOffset: number;
  /** How many characters of JSON are kept. */
  length: number;
}

/** Reads the extent of a log. */
export async function readLogExtent(db: Db, runId: string): Promise<LogExtent> {
  const log = db.selectFrom('log').where('run_id', '=', runId);
  const newest = await log.select(['last', 'end_offset']).orderBy('last', 'desc').limit(1).executeTakeFirst();
  if (!newest) return { last: 0, endOffset: 0, length: 0 };
  const oldest = await log.select('start_offset').orderBy('last').limit(1).executeTakeFirstOrThrow();
  const { last, end_offset: endOffset } = newest;
  return { last, endOffset, length: endOffset - oldest.start_offset };
}
