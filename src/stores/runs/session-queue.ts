import type { RunRecord } from '../../query/index.js';
import type { Driver } from '../drivers/driver.js';
import type { Db, Tables } from '../schema/tables.js';
import { balance, lockOwners, nextRound, type OwnerRef } from './owner-queue.js';
import { recordOf, selectRuns } from './run-rows.js';

/** The queue of a session: its runs that have not ended, in the order of their queue positions. */
export async function queueOf(db: Db, sessionKey: string): Promise<RunRecord[]> {
  const rows = await selectRuns(db)
    .where('session_key', '=', sessionKey)
    .where('ended_at', 'is', null)
    .orderBy('queue_position')
    .execute();
  return rows.map(recordOf);
}

export type SessionRow = Pick<Tables['sessions'], 'key' | 'owner' | 'owner_hash' | 'id' | 'title'>;

/** Gives out the next queue position of a session. Creates the session if it does not exist. */
export async function takeQueuePosition(db: Db, session: SessionRow, now: number): Promise<number> {
  const { queue_positions: position } = await db
    .insertInto('sessions')
    .values({ ...session, queue_positions: 1, turns: 0, length: 0, used_at: now })
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

export interface Position {
  sessionKey: string | null;
  queuePosition: number | null;
  owner: OwnerRef;
}

/**
 * Promotes what waited for a run that has left its queue: the next run of its session, and a deferred run of its owner. This is
 * a part of a transaction, and it is repeatable.
 *
 * @param limit how many runs of the owner may execute. Undefined if that is not known here: then nothing becomes ready, and a
 * process that knows it does the rest
 * @returns a run that became ready
 */
export async function promoteAfter(
  db: Db,
  driver: Driver,
  { sessionKey, queuePosition, owner }: Position,
  limit: number | undefined,
  now: number,
): Promise<RunRecord | undefined> {
  const first = sessionKey === null ? undefined : await firstAfter(db, sessionKey, queuePosition!);
  if (first && first.ready_at === null && limit === Infinity) {
    await lockOwners(db, driver, [owner]);
    const round = await nextRound(db, owner);
    await db
      .updateTable('runs')
      .set({ ready_at: now, round, deferred_at: null })
      .where('id', '=', first.id)
      .execute();
  } else if (first && first.ready_at === null && first.deferred_at === null) {
    await db.updateTable('runs').set({ deferred_at: now }).where('id', '=', first.id).execute();
  }
  if (limit === Infinity) return first && recordOf(first);
  if (limit === undefined) return undefined;
  const [ready] = await balance(db, driver, owner, limit, now);
  return ready ?? (first && first.ready_at !== null ? recordOf(first) : undefined);
}

/** The first run of a session, if it waits, and was behind a queue position. */
async function firstAfter(db: Db, sessionKey: string, position: number) {
  const first = await selectRuns(db)
    .select(['queue_position', 'ready_at', 'deferred_at'])
    .where('session_key', '=', sessionKey)
    .where('ended_at', 'is', null)
    .orderBy('queue_position')
    .limit(1)
    .executeTakeFirst();
  return first && first.queue_position! >= position && first.status === 'waiting' ? first : undefined;
}
