import { type QueryCreator, sql } from 'kysely';
import { doneText, type RunEnd } from '../../query/index.js';
import type { Driver } from '../drivers/driver.js';
import type { Db, Tables } from '../schema/tables.js';
import { deferredOf } from './queues.js';
import { type OwnedAttempt, statementWith } from './run-rows.js';
import { insertSegments, type LogExtent, SEGMENT_COLUMNS, SEGMENT_TYPES, segmentsOf } from './segments.js';

const ATTEMPT_TYPES = { run_id: 'text', process: 'text', attempt: 'bigint' } as const;
export const USAGE_TYPES = { ...ATTEMPT_TYPES, usage: 'text' } as const;
export const ENDING_TYPES = {
  ...SEGMENT_TYPES,
  ...ATTEMPT_TYPES,
  usage: 'text',
  status: 'text',
  ended_at: 'bigint',
  outcome: 'text',
  log_length: 'bigint',
} as const;

type Row<Types> = { [Name in keyof Types]: Types[Name] extends 'text' ? string : number };

/** A new value of `runs.usage`, and the process and the attempt that the run must have. */
export type UsageOfRun = Row<typeof USAGE_TYPES>;

/**
 * The end of a run: the segment of `done`, the process and the attempt that the run must have before, and its new values.
 * `usage` is null if its row has it already.
 */
export type RunEnding = Omit<Row<typeof ENDING_TYPES>, 'usage'> & { usage: string | null };

/** Whether a run is in the state that the row of a table requires, which it is changed to. */
function isAt(table: 'ending' | 'used') {
  const [id, process, attempt] = ['run_id', 'process', 'attempt'].map((column) =>
    sql.ref(`${table}.${column}`),
  );
  return sql<boolean>`runs.id = ${id} and runs.process = ${process} and runs.attempt = ${attempt}
    and runs.ended_at is null`;
}

/** Makes the ending of a run whose log ends at `log`, before `done`. */
export function endingOf(
  { id, process, attempt }: OwnedAttempt,
  log: LogExtent,
  end: RunEnd,
  endedAt: number,
  usage: string | null = null,
): RunEnding {
  const done = doneText(end);
  const [segment] = segmentsOf(id, log, [done]);
  return {
    ...segment!,
    process,
    attempt,
    usage,
    status: end.status,
    ended_at: endedAt,
    outcome: JSON.stringify(end),
    log_length: log.length + done.length,
  };
}

/**
 * Ends a run, as a part of a transaction.
 *
 * @returns what its row has in `cancelled`; undefined if the run is not in the state that this requires
 */
export async function endRun(db: Db, driver: Driver, ending: RunEnding): Promise<number | undefined> {
  const [ended] = await updating.execute<{ cancelled: number }>(db, driver, [ending]);
  if (ended) await insertSegments(db, driver, [ending]);
  return ended?.cancelled;
}

/** Records what a caller wishes of a run that has not ended. Returns false if it was recorded before. */
export async function recordWish(
  db: Db,
  owner: string,
  id: string,
  wish: 'cancelled' | 'detached',
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('runs')
    .set({ [wish]: 1 })
    .where('id', '=', id)
    .where('owner', '=', JSON.stringify(owner))
    .where(wish, '=', 0)
    .where('ended_at', 'is', null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Inserts `done` where `updating` is going to end the run. */
export const insertingDone = statementWith<RunEnding, 'ending'>('ending', ENDING_TYPES, (db) =>
  db
    .insertInto('log')
    .columns(SEGMENT_COLUMNS)
    .expression((of) => of.selectFrom(['ending', 'runs']).select(SEGMENT_COLUMNS).where(isAt('ending'))),
);

/** Ends runs. Returns those that were in the state that this requires. */
export const updating = statementWith<RunEnding, 'ending'>('ending', ENDING_TYPES, (db) =>
  updateRuns(db)
    .returning(['runs.id', 'runs.cancelled'])
    .returning((of) => deferredOf(of.ref('runs.owner_key'))),
);

/** The same as a part of a statement, which has the table `ending`. */
export function updateRuns(db: Pick<QueryCreator<Tables & { ending: RunEnding }>, 'updateTable'>) {
  return db
    .updateTable('runs')
    .from('ending')
    .set((row) => ({
      parts: null,
      kwargs: null,
      checkpoint: null,
      status: row.ref('ending.status'),
      ended_at: row.ref('ending.ended_at'),
      outcome: row.ref('ending.outcome'),
      last_seq: row.ref('ending.last'),
      log_length: row.ref('ending.log_length'),
      usage: row.fn.coalesce('ending.usage', 'runs.usage'),
    }))
    .where(isAt('ending'));
}

/** Sets what runs have used. */
export const updatingUsage = statementWith<UsageOfRun, 'used'>('used', USAGE_TYPES, updateUsage);

/** The same as a part of a statement, which has the table `used`. */
export function updateUsage(db: Pick<QueryCreator<Tables & { used: UsageOfRun }>, 'updateTable'>) {
  return db
    .updateTable('runs')
    .from('used')
    .set((row) => ({ usage: row.ref('used.usage') }))
    .where(isAt('used'));
}
