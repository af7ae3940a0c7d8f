import { type Admission, type RunRecord, titleOf } from '../../query/index.js';
import type { Driver } from '../drivers/driver.js';
import { ownerHashOf } from '../schema/keys.js';
import type { Db, Tables } from '../schema/tables.js';
import { balance, lockOwners, makeReady, type OwnerRef } from '../rows/queues.js';
import { recordOf, selectRuns } from '../rows/run-rows.js';

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
