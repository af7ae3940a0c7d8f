import type { Driver } from '../drivers/driver.js';
import { type ColumnTypes, RowStatement } from '../drivers/row-statement.js';
import type { Db, Tables } from '../schema/tables.js';

/** A segment that has this many characters is complete; the next envelope begins another one. */
const SEGMENT_LENGTH = 64 * 1024;

/** How many characters of envelopes one statement inserts, unless its first segment has more. */
const STATEMENT_LENGTH = 8 * 1024 * 1024;

export type Segment = Tables['log'];

export const SEGMENT_TYPES = {
  run_id: 'text',
  first: 'bigint',
  last: 'bigint',
  start_offset: 'bigint',
  end_offset: 'bigint',
  envelopes: 'text',
} as const satisfies ColumnTypes<Segment>;

export const SEGMENT_COLUMNS = Object.keys(SEGMENT_TYPES) as (keyof Segment)[];

/** Makes the segments that continue a log, which ends here. */
export function segmentsOf(
  runId: string,
  log: Pick<LogExtent, 'last' | 'endOffset'>,
  envelopes: string[],
): Segment[] {
  const segments: Segment[] = [];
  let { endOffset } = log;
  for (let start = 0; start < envelopes.length;) {
    let end = start;
    let length = 0;
    while (end < envelopes.length && length < SEGMENT_LENGTH) length += envelopes[end++]!.length;
    segments.push({
      run_id: runId,
      first: log.last + start + 1,
      last: log.last + end,
      start_offset: endOffset,
      end_offset: endOffset + length,
      envelopes: envelopes.slice(start, end).join('\n'),
    });
    endOffset += length;
    start = end;
  }
  return segments;
}

/** Joins segments that follow one another to segments that are complete. */
export function joined(segments: Segment[]): Segment[] {
  const whole: Segment[] = [];
  let newest: Segment | undefined;
  for (const { run_id, first, last, start_offset, end_offset, envelopes } of segments) {
    if (newest && newest.envelopes.length + envelopes.length < SEGMENT_LENGTH) {
      newest.last = last;
      newest.end_offset = end_offset;
      newest.envelopes += `\n${envelopes}`;
    } else whole.push((newest = { run_id, first, last, start_offset, end_offset, envelopes }));
  }
  return whole;
}

const insertion = new RowStatement<Segment>(SEGMENT_TYPES, (db, rows) =>
  db
    .insertInto('log')
    .columns(SEGMENT_COLUMNS)
    .expression(rows)
    .onConflict((conflict) => conflict.columns(['run_id', 'last']).doNothing()),
);

/** Splits segments into those that fit into one statement each. */
export function statementsOf(segments: Segment[]): Segment[][] {
  const statements: Segment[][] = [];
  let length = Infinity;
  for (const segment of segments) {
    length += segment.envelopes.length;
    if (length > STATEMENT_LENGTH) {
      statements.push([]);
      length = segment.envelopes.length;
    }
    statements.at(-1)!.push(segment);
  }
  return statements;
}

/** Inserts segments. It is repeatable: those that an earlier attempt has inserted are left as they are. */
export async function insertSegments(db: Db, driver: Driver, segments: Segment[]): Promise<void> {
  const statements = driver.isShared ? statementsOf(segments) : [segments];
  for (const fitting of statements) await insertion.execute(db, driver, fitting);
}

export interface LogExtent {
  /** The number of the newest envelope; 0 for an empty log. */
  last: number;
  /** Characters of JSON since the beginning of the log. */
  endOffset: number;
  /** How many characters of JSON are kept. */
  length: number;
}

export async function readLogExtent(db: Db, runId: string): Promise<LogExtent> {
  const log = db.selectFrom('log').where('run_id', '=', runId);
  const newest = await log.select(['last', 'end_offset']).orderBy('last', 'desc').limit(1).executeTakeFirst();
  if (!newest) return { last: 0, endOffset: 0, length: 0 };
  const oldest = await log.select('start_offset').orderBy('last').limit(1).executeTakeFirstOrThrow();
  const { last, end_offset: endOffset } = newest;
  return { last, endOffset, length: endOffset - oldest.start_offset };
}
