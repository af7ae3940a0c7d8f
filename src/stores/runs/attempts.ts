import { restartedText, type RunRecord } from '../../query/index.js';
import type { Driver } from '../drivers/driver.js';
import type { Db } from '../schema/tables.js';
import type { LimitOf } from './finish.js';
import { selectLeases } from './lease.js';
import { balance, lockOwners, nextRound, ownerRefOf, WAITING } from './owner-queue.js';
import { COLUMNS, newestOf, recordOf, valueOf } from './run-rows.js';
import { insertSegments, readLogExtent, segmentsOf } from './segments.js';

/** The first and the last number of envelopes that are void. */
export type VoidRange = [first: number, last: number];

/** A run that was started, and where its log ends, in characters since its beginning. */
export interface Started {
  run: RunRecord;
  endOffset: number;
}

/**
 * Starts ready runs, in one statement.
 *
 * @param process the process that executes them from now on. It starts none if its lease has ended
 * @param module the module that executes them
 */
export async function startWaiting(
  db: Db,
  { isShared }: Driver,
  process: string,
  module: string,
  count: number,
  now: number,
): Promise<Started[]> {
  const rows = await db
    .with('lease', (of) => {
      const lease = selectLeases(of, [process]);
      return isShared ? lease.forKeyShare() : lease;
    })
    .with('ready', (of) => {
      const ready = of
        .selectFrom('runs')
        .select('id')
        .where('status', '=', WAITING)
        .where('module', '=', module)
        .where('process', '=', '')
        .where('ready_at', 'is not', null)
        .where((run) => run.exists(run.selectFrom('lease').select('lease.id')))
        .orderBy('round')
        .orderBy('ready_at')
        .orderBy('created_at')
        .limit(count);
      // Runs that another process is starting at this moment are passed over.
      return isShared ? ready.forUpdate().skipLocked() : ready;
    })
    .updateTable('runs')
    .set((of) => ({ status: 'running', process, started_at: of.fn.coalesce('started_at', of.val(now)) }))
    .where('id', 'in', (of) => of.selectFrom('ready').select('ready.id'))
    .returning(COLUMNS)
    .returning((of) => [
      'round',
      'ready_at',
      newestOf(of, 'last').as('last_seq'),
      newestOf(of, 'end_offset').as('end_offset'),
    ])
    .execute();
  rows.sort((a, b) => a.round - b.round || a.ready_at! - b.ready_at! || a.created_at - b.created_at);
  return rows.map((row) => ({
    run: recordOf({ ...row, last_seq: row.last_seq ?? 0 }),
    endOffset: row.end_offset ?? 0,
  }));
}

/** Names an attempt of a run, and the process that owns the run. */
export interface OwnedAttempt {
  id: string;
  attempt: number;
  process: string;
}

/**
 * Ends an attempt of a run: the run is ready for the next one, before all runs of its owner that are younger. Its log continues
 * with `restarted`. This is the body of one transaction.
 *
 * @returns false if the run has ended, or the process does not own it at this attempt
 */
export async function handOver(
  db: Db,
  driver: Driver,
  { id, attempt, process }: OwnedAttempt,
  limitOf: LimitOf,
  now: number,
): Promise<boolean> {
  const row = await returnToQueue(db, driver, { id, attempt, process }, limitOf, now);
  if (!row) return false;
  const { last, endOffset } = await readLogExtent(db, id);
  const from = row.checkpoint_seq ?? 0;
  const restarted = restartedText(attempt + 1, from);
  await insertSegments(db, driver, segmentsOf({ id, lastSeq: last, endOffset }, [restarted]));
  if (last > from) {
    const ranges = [...voidRanges(row.void), [from + 1, last]];
    await db
      .updateTable('runs')
      .set({ void: JSON.stringify(ranges) })
      .where('id', '=', id)
      .execute();
  }
  return true;
}

/**
 * Returns a run to the queue: it is ready, before all runs of its owner that are younger. This is a part of a transaction.
 *
 * @param owned `attempt`: ends this attempt, so that the run is ready for the next one. Default: the run was never executed
 * @returns undefined if the run has ended, or the process does not own it at this attempt
 */
export async function returnToQueue(
  db: Db,
  driver: Driver,
  { id, attempt, process }: Pick<OwnedAttempt, 'id' | 'process'> & { attempt?: number },
  limitOf: LimitOf,
  now: number,
): Promise<{ checkpoint_seq: number | null; void: string | null } | undefined> {
  const found = await db
    .selectFrom('runs')
    .select(['owner', 'module'])
    .where('id', '=', id)
    .where('process', '=', process)
    .where('ended_at', 'is', null)
    .executeTakeFirst();
  if (!found) return undefined;
  const owner = ownerRefOf(valueOf(found.owner, id) ?? '', found.module);
  await lockOwners(db, driver, [owner]);
  const round = await nextRound(db, owner, true);
  const row = await db
    .updateTable('runs')
    .set((of) => ({
      status: 'waiting',
      process: '',
      owner_key: owner.key,
      ready_at: of.ref('created_at'),
      round,
      ...(attempt !== undefined && { attempt: attempt + 1 }),
    }))
    .where('id', '=', id)
    .where('process', '=', process)
    .where('status', '=', 'running')
    .$if(attempt !== undefined, (of) => of.where('attempt', '=', attempt!))
    .returning(['checkpoint_seq', 'void'])
    .executeTakeFirst();
  // The run was not counted before, if it was started while there was no limit.
  const limit = limitOf(found.module) ?? Infinity;
  if (row && limit !== Infinity) await balance(db, driver, owner, limit, now);
  return row;
}

/** The ranges of void envelopes, as the column `void` has them. */
export function voidRanges(column: string | null): VoidRange[] {
  return column === null ? [] : (JSON.parse(column) as VoidRange[]);
}
