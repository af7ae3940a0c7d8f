import { type Expression, expressionBuilder, sql } from 'kysely';
import type { RunRecord } from '../../query/index.js';
import type { Driver } from '../drivers/driver.js';
import { keyOf } from '../schema/keys.js';
import type { Db, Tables } from '../schema/tables.js';
import { recordOf, selectRuns } from './run-rows.js';

/*
 * The runs of one owner in one module. Each of them that has not ended is in one of three states:
 *
 * - **active**: it executes, or it is ready (`ready_at`), so that any process may start it;
 * - **deferred** (`deferred_at`): it is the first of its session, but its owner has reached the limit of active runs;
 * - **queued**: it is behind another run of its session.
 *
 * No more runs are active than may execute. So a process that takes a ready run need not count. A run becomes active while
 * `lockOwners` is held, so that two processes never count the same runs and both add one.
 *
 * Rounds give slots to owners in turn, as in start-time fair queueing: an owner has one ready run of each round, and runs start
 * in the order of their rounds.
 */

/** Names an owner in a module, as the tables do: slots are given, and limits per owner hold, within a module. */
export interface OwnerRef {
  module: string;
  key: string;
}

/** The most runs that one transaction makes ready. */
const AT_ONCE = 1_000;

/** A condition that is in the predicates of indexes: as a parameter it would not match them. */
export const WAITING = sql.lit('waiting');

export function ownerRefOf(owner: string, module: string): OwnerRef {
  return { module, key: keyOf(owner, `module ${module}`) };
}

/** Until the end of the transaction, no other process makes runs of these owners active. Locks of sessions are taken before. */
export function lockOwners(db: Db, driver: Driver, ...keys: string[]): Promise<void> {
  return driver.lock(db, ...keys.map((key) => `owner ${key}`));
}

/** Selects a deferred run of an owner. */
export function deferredOf(key: string | Expression<string | null>) {
  return expressionBuilder<Tables, never>()
    .selectFrom('runs as deferred')
    .where('deferred.status', '=', WAITING)
    .where('deferred.owner_key', '=', key)
    .where('deferred.deferred_at', '>', 0)
    .select('deferred.id')
    .limit(1)
    .as('deferred');
}

/** Selects how many runs of an owner are active, and a deferred run of it: those become active before younger runs. */
export function loadOf(key: string | Expression<string | null>) {
  const active = expressionBuilder<Tables, never>()
    .selectFrom('runs as active')
    .where('active.owner_key', '=', key)
    .where('active.ready_at', 'is not', null)
    .where('active.ended_at', 'is', null)
    .select((of) => of.fn.countAll<number>().as('count'))
    .as('active');
  return [active, deferredOf(key)] as const;
}

/** Selects the loads of the owners that may not be balanced: those with deferred or ready runs. */
export function selectLoads(db: Db) {
  const owners = db
    .selectFrom('runs')
    .select(['module', 'owner_key'])
    .distinct()
    .where('status', '=', WAITING)
    .where('owner_key', 'is not', null)
    .where((run) => run.or([run('deferred_at', '>', 0), run('ready_at', 'is not', null)]));
  return db
    .selectFrom(owners.as('owner'))
    .select(['owner.module', 'owner.owner_key as key'])
    .select((of) => loadOf(of.ref('owner.owner_key')))
    .$narrowType<{ key: string }>()
    .execute();
}

export async function hasFreePlace(db: Db, { key }: OwnerRef, limit: number): Promise<boolean> {
  if (limit === Infinity) return true;
  const { active, deferred } = await db.selectNoFrom(loadOf(key)).executeTakeFirstOrThrow();
  return active! < limit && deferred === null;
}

/** Whether at least so many runs of an owner wait. Reads no more of them. */
export async function hasWaiting(db: Db, { key }: OwnerRef, count: number): Promise<boolean> {
  if (count === 0) return true;
  const last = await db
    .selectFrom('runs')
    .select('id')
    .where('status', '=', WAITING)
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
 * Runs that were started before come before the others of their owner. So only other runs like them count for them.
 */
export async function nextRound(db: Db, owner: OwnerRef, wasStarted = false): Promise<number> {
  return roundAfter(await db.selectNoFrom(roundsOf(owner, wasStarted)).executeTakeFirstOrThrow());
}

/** How many runs of the module wait, and `nextRound`, in one statement. WARNING: only under the lock of the owner. */
export async function readQueue(db: Db, owner: OwnerRef): Promise<{ waiting: number; round: number }> {
  const waiting = expressionBuilder<Tables, never>()
    .selectFrom('waiting_counts')
    .select((of) => of.fn.sum<string | number | null>('runs').as('count'))
    .where('module', '=', owner.module)
    .as('waiting');
  const row = await db.selectNoFrom([waiting, ...roundsOf(owner)]).executeTakeFirstOrThrow();
  return { waiting: Number(row.waiting), round: roundAfter(row) };
}

/** Selects the oldest round of a module that has a ready run, and the last one of an owner. */
function roundsOf({ module, key }: OwnerRef, wasStarted = false) {
  const ready = expressionBuilder<Tables, never>()
    .selectFrom('runs')
    .where('status', '=', WAITING)
    .where('ready_at', 'is not', null)
    .select('round')
    .limit(1);
  const last = ready
    .where('owner_key', '=', key)
    .where('ended_at', 'is', null)
    .$if(wasStarted, (of) => of.where('started_at', 'is not', null))
    .orderBy('round', 'desc')
    .as('last');
  return [ready.where('module', '=', module).orderBy('round').as('present'), last] as const;
}

function roundAfter({ present, last }: { present: number | null; last: number | null }): number {
  return Math.max(present ?? 0, (last ?? -1) + 1);
}

/**
 * The round of a run that was started before, and becomes ready again: it comes before the runs of its owner that were never
 * started. The others move to later rounds, so that the owner still has one run of each. WARNING: only under the lock of the owner.
 */
export async function roundBeforeYounger(db: Db, owner: OwnerRef): Promise<number> {
  const round = await nextRound(db, owner, true);
  await db
    .updateTable('runs')
    .set((of) => ({ round: of('round', '+', 1) }))
    .where('owner_key', '=', owner.key)
    .where('status', '=', WAITING)
    .where('ready_at', 'is not', null)
    .where('ended_at', 'is', null)
    .where('started_at', 'is', null)
    .where('round', '>=', round)
    .execute();
  return round;
}

/**
 * Brings the active runs of an owner as near to the limit as its deferred runs allow, as a part of a transaction. Returns the
 * runs that became ready.
 */
export async function balance(
  db: Db,
  driver: Driver,
  owner: OwnerRef,
  limit: number,
  now: number,
): Promise<RunRecord[]> {
  await lockOwners(db, driver, owner.key);
  const { active, deferred } = await db.selectNoFrom(loadOf(owner.key)).executeTakeFirstOrThrow();
  const free = limit - active!;
  if (free < 0) await deferLast(db, owner, -free);
  if (free <= 0 || deferred === null) return [];
  const rows = await selectRuns(db)
    .where('status', '=', WAITING)
    .where('owner_key', '=', owner.key)
    .where('deferred_at', '>', 0)
    .orderBy('deferred_at')
    .orderBy('created_at')
    .limit(Math.min(free, AT_ONCE))
    .execute();
  await makeReady(db, owner, rows, now);
  return rows.map(recordOf);
}

/** Makes runs ready, in this order. WARNING: only under the lock of the owner. */
export async function makeReady(
  db: Db,
  owner: OwnerRef,
  runs: { id: string; started_at: number | null }[],
  now: number,
): Promise<void> {
  let next = await nextRound(db, owner);
  for (const { id, started_at } of runs) {
    const round = started_at === null ? next++ : await roundBeforeYounger(db, owner);
    await db
      .updateTable('runs')
      .set({ ready_at: now, round, deferred_at: null })
      .where('id', '=', id)
      .where('status', '=', 'waiting')
      .execute();
  }
}

/** Defers the ready runs of an owner that would be started last: the limit was higher when they became ready. */
async function deferLast(db: Db, { key }: OwnerRef, count: number): Promise<void> {
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
