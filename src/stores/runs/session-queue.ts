import type { RunRecord } from '../../query/index.js';
import type { Db } from '../schema/tables.js';
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

/** Gives out the next queue position of a session. Creates the session if it does not exist. */
export async function takeQueuePosition(db: Db, sessionKey: string, now: number): Promise<number> {
  const { queue_positions: position } = await db
    .insertInto('sessions')
    .values({ key: sessionKey, queue_positions: 1, turns: 0, length: 0, used_at: now })
    .onConflict((conflict) =>
      conflict
        .column('key')
        .doUpdateSet((of) => ({ queue_positions: of('sessions.queue_positions', '+', 1), used_at: now })),
    )
    .returning('queue_positions')
    .executeTakeFirstOrThrow();
  return position;
}

/**
 * Promotes the first run of a session when the run at a queue position has left the queue: a process may start it now. It is
 * repeatable.
 *
 * @returns the first run, if it waited behind that one
 */
export async function promoteAfter(
  db: Db,
  sessionKey: string,
  position: number,
  now: number,
): Promise<RunRecord | undefined> {
  const first = await selectRuns(db)
    .select(['queue_position', 'ready_at'])
    .where('session_key', '=', sessionKey)
    .where('ended_at', 'is', null)
    .orderBy('queue_position')
    .limit(1)
    .executeTakeFirst();
  if (!first || first.queue_position! < position || first.status !== 'waiting') return undefined;
  if (first.ready_at === null) {
    await db.updateTable('runs').set({ ready_at: now }).where('id', '=', first.id).execute();
  }
  return recordOf(first);
}
