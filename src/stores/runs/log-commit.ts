import { type QueryCreator, type RawBuilder, sql } from 'kysely';
import { doneText, type RunEnd } from '../../query/index.js';
import type { Driver } from '../drivers/driver.js';
import { type ColumnTypes, RowStatement, tableOf } from '../drivers/row-statement.js';
import type { Db, Tables } from '../schema/tables.js';
import { selectLeases } from './lease.js';
import { insertSegments, type LogExtent, type Segment, SEGMENT_COLUMNS, SEGMENT_TYPES } from './segments.js';

/** What one commit writes of logs. */
export interface LogCommit {
  segments: Segment[];
  /** Runs without a session that end, behind these segments. */
  endings: RunEnding[];
}

/** The end of a run as a row: the new values of its columns, what they must be before, and the segment of `done`. */
export type RunEnding = {
  id: string;
  process: string;
  attempt: number;
  status: string;
  ended_at: number;
  outcome: string;
  log_length: number;
} & Omit<Segment, 'run_id'>;

const ENDING_TYPES: ColumnTypes<RunEnding> = {
  id: 'text',
  process: 'text',
  attempt: 'bigint',
  status: 'text',
  ended_at: 'bigint',
  outcome: 'text',
  log_length: 'bigint',
  first: 'bigint',
  last: 'bigint',
  start_offset: 'bigint',
  end_offset: 'bigint',
  envelopes: 'text',
};

/** The tables, with the endings of a statement. */
type WithEndings = Tables & { ending: RunEnding };

/** What a run no longer has when it has ended. */
const FORGOTTEN = { parts: null, kwargs: null, checkpoint: null };

/**
 * The ending of a run.
 *
 * @param owned the run, and what it must be before: unfinished, at this attempt, and owned by this process
 * @param log where its log ends before `done`
 */
export function endingOf(
  owned: { id: string; process: string; attempt: number },
  log: LogExtent,
  end: RunEnd,
  endedAt: number,
): RunEnding {
  const done = doneText(end);
  return {
    id: owned.id,
    process: owned.process,
    attempt: owned.attempt,
    status: end.status,
    ended_at: endedAt,
    outcome: JSON.stringify(end),
    log_length: log.length + done.length,
    first: log.last + 1,
    last: log.last + 1,
    start_offset: log.endOffset,
    end_offset: log.endOffset + done.length,
    envelopes: done,
  };
}

/**
 * Writes a commit in one statement, if all these leases are valid. They cannot end before the statement has ended. For Postgres:
 * SQLite has no data-modifying `with`. A segment that was inserted before is left as it is.
 *
 * @returns the leases that have ended, and the runs that were ended. If a lease has ended, nothing was written. A run is not
 * ended if it was not in the state that its ending requires, also because this is a repetition
 */
export async function writeUnder(
  db: Db,
  leases: string[],
  { segments, endings }: LogCommit,
): Promise<{ expired: string[]; ended: Set<string> }> {
  const isOwner = sql<boolean>`(select count(*) from leased) = ${leases.length}`;
  const rows = await db
    .with('leased', (of) => selectLeases(of, leases).forKeyShare())
    .with('inserted', (of) =>
      of
        .insertInto('log')
        .columns(SEGMENT_COLUMNS)
        .expression((log) =>
          log
            .selectFrom(tableOf('segment', SEGMENT_TYPES, segments))
            .select(SEGMENT_COLUMNS)
            .where(isOwner),
        )
        .onConflict((conflict) => conflict.columns(['run_id', 'last']).doNothing()),
    )
    .with('ending', (of) => of.selectFrom(tableOf('row', ENDING_TYPES, endings)).selectAll())
    .with('ended', (of) => updateRuns(of).where(isOwner).returning('runs.id'))
    .with('done', (of) =>
      of
        .insertInto('log')
        .columns(SEGMENT_COLUMNS)
        .expression((log) =>
          log
            .selectFrom('ending')
            .innerJoin('ended', 'ended.id', 'ending.id')
            .select(['ending.id', 'first', 'last', 'start_offset', 'end_offset', 'envelopes']),
        ),
    )
    .selectFrom('leased')
    .select(['id', sql<boolean>`true`.as('is_lease')])
    .unionAll((of) => of.selectFrom('ended').select(['id', sql<boolean>`false`.as('is_lease')]))
    .execute();
  const valid = new Set(rows.filter(({ is_lease }) => is_lease).map(({ id }) => id));
  return {
    expired: leases.filter((lease) => !valid.has(lease)),
    ended: new Set(rows.filter(({ is_lease }) => !is_lease).map(({ id }) => id)),
  };
}

/**
 * Writes a commit with statements that are passed at once. For SQLite, where no other process can own a run.
 *
 * @returns the runs that were ended; see `writeUnder`
 */
export async function writeAtOnce(
  db: Db,
  driver: Driver,
  { segments, endings }: LogCommit,
): Promise<Set<string>> {
  const [ended] = await Promise.all([
    updating.execute<{ id: string }>(db, driver, endings),
    insertingDone.execute(db, driver, endings),
    insertSegments(db, driver, segments),
  ]);
  return new Set(ended.map(({ id }) => id));
}

const ENDING_COLUMNS = Object.keys(ENDING_TYPES) as (keyof RunEnding)[];

const withEndings = (db: Db, rows: RawBuilder<RunEnding>) =>
  db.with(`ending(${ENDING_COLUMNS.join(', ')})` as 'ending', () => sql<RunEnding>`(${rows})`);

const updating = new RowStatement<RunEnding>(ENDING_TYPES, (db, rows) =>
  updateRuns(withEndings(db, rows)).returning('runs.id'),
);

/** Inserts `done`, where `updateRuns` has ended the run. */
const insertingDone = new RowStatement<RunEnding>(ENDING_TYPES, (db, rows) =>
  withEndings(db, rows)
    .insertInto('log')
    .columns(SEGMENT_COLUMNS)
    .expression((of) =>
      of
        .selectFrom('ending')
        .innerJoin('runs', (on) =>
          on
            .onRef('runs.id', '=', 'ending.id')
            .onRef('runs.process', '=', 'ending.process')
            .onRef('runs.attempt', '=', 'ending.attempt')
            .onRef('runs.ended_at', '=', 'ending.ended_at')
            .onRef('runs.outcome', '=', 'ending.outcome'),
        )
        .select(['ending.id', 'first', 'last', 'start_offset', 'end_offset', 'envelopes'])
        // Without a condition, SQLite takes what follows for a part of the join.
        .where(sql<boolean>`true`),
    )
    .onConflict((conflict) => conflict.columns(['run_id', 'last']).doNothing()),
);

/** Sets the ends of runs, where the runs are in the state that their endings require. */
function updateRuns(db: Pick<QueryCreator<WithEndings>, 'updateTable'>) {
  return db
    .updateTable('runs')
    .from('ending')
    .set((row) => ({
      ...FORGOTTEN,
      status: row.ref('ending.status'),
      ended_at: row.ref('ending.ended_at'),
      outcome: row.ref('ending.outcome'),
      last_seq: row.ref('ending.last'),
      log_length: row.ref('ending.log_length'),
    }))
    .whereRef('runs.id', '=', 'ending.id')
    .whereRef('runs.process', '=', 'ending.process')
    .whereRef('runs.attempt', '=', 'ending.attempt')
    .where('runs.ended_at', 'is', null);
}
