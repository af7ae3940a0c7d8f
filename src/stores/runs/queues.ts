import { type Expression, expressionBuilder, sql } from 'kysely';
import { type Admission, type RunRecord, titleOf } from '../../query/index.js';
import type { Driver } from '../drivers/driver.js';
import { keyOf, ownerHashOf } from '../schema/keys.js';
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
export async function nextRound(db: Db, { module, key }: OwnerRef, wasStarted = false): Promise<number> {
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
        .$if(wasStarted, (of) => of.where('started_at', 'is not', null))
        .orderBy('round', 'desc')
        .as('last'),
    ])
    .executeTakeFirstOrThrow();
  return Math.max(present ?? 0, (last ?? -1) + 1);
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
async function makeReady(
  db: Db,
  owner: OwnerRef,
  runs: { id: string; started_at: number | null }[],
  now: number,
): Promise<void> {
  let next = await nextRound(db, owner);
  for (const { id, started_at } of runs) {
    const round = started_at === null ? next++ : await nextRound(db, owner, true);
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

/** The queue of a session: its runs that have not ended, in the order of their queue positions. */
export async function queueOf(db: Db, sessionKey: string): Promise<RunRecord[]> {
  return (await selectQueue(db, sessionKey).execute()).map(recordOf);
}

function selectQueue(db: Db, sessionKey: string) {
  return selectRuns(db)
    .select(['queue_position', 'ready_at', 'deferred_at'])
    .where('session_key', '=', sessionKey)
    .where('ended_at', 'is', null)
    .orderBy('queue_position');
}

/** Gives out the next queue position of a session. Creates the session if it does not exist. */
export async function takeQueuePosition(
  db: Db,
  { owner, session, parts }: Admission,
  sessionKey: string,
  now: number,
): Promise<number> {
  const title = titleOf(parts);
  const { queue_positions: position } = await db
    .insertInto('sessions')
    .values({
      key: sessionKey,
      owner: JSON.stringify(owner),
      owner_hash: ownerHashOf(owner),
      id: JSON.stringify(session!.id),
      title: title === undefined ? null : JSON.stringify(title),
      queue_positions: 1,
      turns: 0,
      length: 0,
      used_at: now,
    })
    .onConflict((conflict) =>
      conflict.column('key').doUpdateSet((of) => ({
        queue_positions: of('sessions.queue_positions', '+', 1),
        used_at: now,
        title: of.fn.coalesce('sessions.title', 'excluded.title'),
      })),
    )
    .returning('queue_positions')
    .executeTakeFirstOrThrow();
  return position;
}

/**
 * Promotes what waited for a run that has left its queue: the next run of its session, and a deferred run of its owner. This is
 * a part of a transaction, and it is repeatable. Returns a run that became ready.
 *
 * @param limit undefined if it is not known here: then nothing becomes ready, and a process that knows it does the rest
 */
export async function promoteAfter(
  db: Db,
  driver: Driver,
  {
    session_key: sessionKey,
    queue_position: position,
  }: Pick<Tables['runs'], 'session_key' | 'queue_position'>,
  owner: OwnerRef,
  limit: number | undefined,
  now: number,
): Promise<RunRecord | undefined> {
  const first = sessionKey === null ? undefined : await firstAfter(db, sessionKey, position!);
  if (first && first.ready_at === null) {
    if (limit === Infinity) {
      await lockOwners(db, driver, owner.key);
      await makeReady(db, owner, [first], now);
    } else if (first.deferred_at === null) {
      await db.updateTable('runs').set({ deferred_at: now }).where('id', '=', first.id).execute();
    }
  }
  if (limit === Infinity) return first && recordOf(first);
  if (limit === undefined) return undefined;
  const [ready] = await balance(db, driver, owner, limit, now);
  return ready ?? (first && first.ready_at !== null ? recordOf(first) : undefined);
}

/** The first run of a session, if it waits, and was behind a queue position. */
async function firstAfter(db: Db, sessionKey: string, position: number) {
  const first = await selectQueue(db, sessionKey).limit(1).executeTakeFirst();
  return first && first.queue_position! >= position && first.status === 'waiting' ? first : undefined;
}
