import type { Db } from '../schema/tables.js';

/**
 * The most that one transaction removes. Limits, because on SQLite every write waits for the transactions before it, and what
 * is removed is overwritten.
 */
export const REMOVED = { runs: 20, segments: 100, turns: 50, length: 256 * 1024 };

/** The first rows that one transaction may remove: at least one, if there is one. */
export function firstOf<Row>(rows: Row[], lengthOf: (row: Row) => number, limit: number): Row[] {
  let length = 0;
  return rows.filter((row) => {
    if (length >= limit) return false;
    length += lengthOf(row);
    return true;
  });
}

/**
 * Removes the oldest segments of logs.
 *
 * @param end only segments that end up to here are removed, in characters since the beginning of their log
 * @returns whether there may be more to remove
 */
export async function removeSegments(db: Db, runIds: string[], end = Infinity): Promise<boolean> {
  const oldest = await db
    .selectFrom('log')
    .select(['run_id', 'last', 'start_offset', 'end_offset'])
    .where('run_id', 'in', runIds)
    .orderBy('run_id')
    .orderBy('last')
    .limit(REMOVED.segments)
    .execute();
  const removable = oldest.filter((segment) => segment.end_offset <= end);
  const removed = firstOf(removable, (segment) => segment.end_offset - segment.start_offset, REMOVED.length);
  if (removed.length === 0) return false;
  const newest = new Map(removed.map((segment) => [segment.run_id, segment.last]));
  await db
    .deleteFrom('log')
    .where((of) =>
      of.or([...newest].map(([runId, last]) => of.and([of('run_id', '=', runId), of('last', '<=', last)]))),
    )
    .execute();
  return removed.length < removable.length || removable.length === REMOVED.segments;
}

/** Removes runs and their logs, as far as one transaction may do that. Returns whether all of them were removed. */
export async function removeRunsFrom(db: Db, runIds: string[]): Promise<boolean> {
  if (await removeSegments(db, runIds)) return false;
  // The turn of a session still needs the files.
  const alone = db.selectFrom('runs').select('id').where('id', 'in', runIds).where('session_key', 'is', null);
  await db.deleteFrom('file_uses').where('run_id', 'in', alone).execute();
  await db.deleteFrom('files').where('run_id', 'in', alone).execute();
  await db.deleteFrom('runs').where('id', 'in', runIds).execute();
  return true;
}
