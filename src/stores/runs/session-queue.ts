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
 * The run to promote when the run at a queue position has left the queue: the first run, if it waited behind that one.
 * Undefined if there is none.
 */
export async function successorOf(
  db: Db,
  sessionKey: string,
  position: number,
): Promise<RunRecord | undefined> {
  const first = await selectRuns(db)
    .select('queue_position')
    .where('session_key', '=', sessionKey)
    .where('ended_at', 'is', null)
    .orderBy('queue_position')
    .limit(1)
    .executeTakeFirst();
  const wasBehind = first && first.queue_position! > position && first.status === 'waiting';
  return wasBehind ? recordOf(first) : undefined;
}

/** Whether no unfinished run of its session is ahead of a run. Also true without a session. */
export async function isFirstInQueue(db: Db, runId: string): Promise<boolean> {
  const row = await db
    .selectFrom('runs')
    .select('runs.id')
    .where('runs.id', '=', runId)
    .where((of) =>
      of.not(
        of.exists(
          of
            .selectFrom('runs as others')
            .select('others.id')
            .whereRef('others.session_key', '=', 'runs.session_key')
            .whereRef('others.queue_position', '<', 'runs.queue_position')
            .where('others.ended_at', 'is', null),
        ),
      ),
    )
    .executeTakeFirst();
  return row !== undefined;
}
