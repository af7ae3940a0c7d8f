import { sql } from 'kysely';
import type { RunRecord } from '../../query/index.js';
import type { Driver } from '../drivers/driver.js';
import { keyOf } from '../schema/keys.js';
import type { Db } from '../schema/tables.js';
import { recordOf, selectRuns } from './run-rows.js';

/*
 * The runs of one owner in one module. Each of them that has not ended is in one of three states:
 *
 * - **active**: it executes, or it is ready (`ready_at`), so that any process may start it;
 * - **deferred** (`deferred_at`): it is the first of its session, but its owner has reached the limit of active runs;
 * - **queued**: it is behind another run of its session.
 *
 * No more runs are active than may execute. So a process that takes a ready run need not count. A run becomes active while
 * `lockOwner` is held, so that two processes never count the same runs and both add one.
 *
 * Rounds give slots to owners in turn, as in start-time fair queueing: an owner has one ready run of each round, and runs start
 * in the order of their rounds.
 */

/** Names an owner in a module, as the tables do: slots are given, and limits per owner hold, within a module. */
export interface OwnerRef {
  module: string;
  key: string;
}

/** A condition that is in the predicates of indexes: as a parameter it would not match them. */
export const WAITING = sql.lit('waiting');

export function ownerRefOf(owner: string, module: string): OwnerRef {
  return { module, key: keyOf(owner, `module ${module}`) };
}

/** Until the end of the transaction, no other process makes runs of these owners active. Locks of sessions are taken before. */
export function lockOwners(db: Db, driver: Driver, owners: OwnerRef[]): Promise<void> {
  return driver.lock(db, ...owners.map(({ key }) => `owner ${key}`));
}

export function activeRuns(db: Pick<Db, 'selectFrom'>) {
  return db
    .selectFrom('runs as active')
    .where('active.ready_at', 'is not', null)
    .where('active.ended_at', 'is', null);
}

export function deferredRuns(db: Pick<Db, 'selectFrom'>) {
  return db
    .selectFrom('runs as deferred')
    .where('deferred.status', '=', WAITING)
    .where('deferred.deferred_at', '>', 0);
}

/** How many runs of an owner are active, and whether it has deferred runs: those become active before younger runs. */
export async function loadOf(
  db: Db,
  { module, key }: OwnerRef,
): Promise<{ active: number; hasDeferred: boolean }> {
  const { active, deferred } = await db
    .selectNoFrom([
      activeRuns(db)
        .where('active.owner_key', '=', key)
        .select((of) => of.fn.countAll<string | number>().as('count'))
        .as('active'),
      deferredRuns(db)
        .where('deferred.module', '=', module)
        .where('deferred.owner_key', '=', key)
        .select('deferred.id')
        .limit(1)
        .as('deferred'),
    ])
    .executeTakeFirstOrThrow();
  return { active: Number(active), hasDeferred: deferred !== null };
}

/** How many runs of a module wait. */
export async function countWaiting(db: Db, module: string): Promise<number> {
  const { count } = await db
    .selectFrom('waiting_counts')
    .select((of) => of.fn.sum<string | number | null>('runs').as('count'))
    .where('module', '=', module)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Whether at least so many runs of an owner wait. Reads no more of them. */
export async function hasWaiting(db: Db, { module, key }: OwnerRef, count: number): Promise<boolean> {
  if (count === 0) return true;
  const last = await db
    .selectFrom('runs')
    .select('id')
    .where('status', '=', WAITING)
    .where('module', '=', module)
    .where('owner_key', '=', key)
    .orderBy('deferred_at')
    .offset(count - 1)
    .limit(1)
    .executeTakeFirst();
  return last !== undefined;
}

/**
 * The round of a run that becomes ready: the one after the last round in which its owner has a ready run, but no round that has
 * passed. WARNING: only under the lock of the owner.
 *
 * Restarted runs come before the younger runs of their owner. So only other restarted runs count for them.
 */
export async function nextRound(db: Db, { module, key }: OwnerRef, isRestarted = false): Promise<number> {
  const ready = db
    .selectFrom('runs')
    .where('status', '=', WAITING)
    .where('ready_at', 'is not', null)
    .select('round')
    .limit(1);
  const { present, last } = await db
    .selectNoFrom([
      ready.where('module', '=', module).orderBy('round').as('present'),
      ready
        .where('owner_key', '=', key)
        .where('ended_at', 'is', null)
        .$if(isRestarted, (of) => of.where('attempt', '>', sql.lit(1)))
        .orderBy('round', 'desc')
        .as('last'),
    ])
    .executeTakeFirstOrThrow();
  return Math.max(present ?? 0, (last ?? -1) + 1);
}

/**
 * Brings the active runs of an owner as near to the limit as its deferred runs allow. This is a part of a transaction.
 *
 * @param limit how many runs of the owner may execute
 * @returns the runs that became ready by this
 */
export async function balance(
  db: Db,
  driver: Driver,
  owner: OwnerRef,
  limit: number,
  now: number,
): Promise<RunRecord[]> {
  await lockOwners(db, driver, [owner]);
  const { active, hasDeferred } = await loadOf(db, owner);
  if (active > limit) await defer(db, owner, active - limit);
  if (active >= limit || !hasDeferred) return [];
  const rows = await selectRuns(db)
    .where('status', '=', WAITING)
    .where('module', '=', owner.module)
    .where('owner_key', '=', owner.key)
    .where('deferred_at', '>', 0)
    .orderBy('deferred_at')
    .orderBy('created_at')
    .limit(Math.min(limit - active, AT_ONCE))
    .execute();
  let round = await nextRound(db, owner);
  for (const { id } of rows) {
    await db
      .updateTable('runs')
      .set({ ready_at: now, round: round++, deferred_at: null })
      .where('id', '=', id)
      .where('status', '=', 'waiting')
      .execute();
  }
  return rows.map(recordOf);
}

/** The most runs that one transaction makes ready. */
const AT_ONCE = 1_000;

/** Defers the ready runs of an owner that would be started last: the limit was higher when they became ready. */
async function defer(db: Db, { key }: OwnerRef, count: number): Promise<void> {
  await db
    .updateTable('runs')
    .set((of) => ({ deferred_at: of.ref('ready_at'), ready_at: null }))
    .where('id', 'in', (of) =>
      of
        .selectFrom('runs')
        .select('id')
        .where('owner_key', '=', key)
        .where('status', '=', WAITING)
        .where('ready_at', 'is not', null)
        .where('ended_at', 'is', null)
        .orderBy('round', 'desc')
        .limit(count),
    )
    .where('status', '=', 'waiting')
    .execute();
}
