import { sql } from 'kysely';
import type { RunRecord, Turn, TurnsPage } from '../../query/index.js';
import type { Db } from '../schema/tables.js';

/** Adds the turn of a run that has ended to its session. `query` is the query as the table `runs` has it. */
export async function addTurn(
  db: Db,
  sessionKey: string,
  run: RunRecord,
  query: string,
  text: string,
): Promise<void> {
  const turn: Turn = {
    runId: run.id,
    parts: (JSON.parse(query) as { parts: Turn['parts'] }).parts,
    text,
    end: run.end!,
    createdAt: new Date(run.createdAt).toISOString(),
    endedAt: new Date(run.endedAt!).toISOString(),
  };
  const json = JSON.stringify(turn);
  const { turns } = await db
    .updateTable('sessions')
    .set((of) => ({
      turns: of('turns', '+', 1),
      length: of('length', '+', json.length),
      used_at: run.endedAt!,
    }))
    .where('key', '=', sessionKey)
    .returning('turns')
    .executeTakeFirstOrThrow();
  await db
    .insertInto('turns')
    .values({ session_key: sessionKey, number: turns, run_id: run.id, length: json.length, turn: json })
    .execute();
}

/**
 * Reads a page of a session's turns; see `RunStore.turns`. The cost depends on the length of the page, not on that of the
 * session.
 */
export async function readTurns(
  db: Db,
  sessionKey: string,
  { after, limit, maxLength = Number.MAX_SAFE_INTEGER }: TurnsPage,
): Promise<{ turns: Turn[]; last: number; total: number } | undefined> {
  const session = await db
    .selectFrom('sessions')
    .select('turns')
    .where('key', '=', sessionKey)
    .executeTakeFirst();
  if (!session) return undefined;
  const total = session.turns;
  const order = after === undefined ? 'desc' : 'asc';
  // The length of each turn together with those before it in the page: long texts of other turns are never read.
  const page = db
    .selectFrom('turns')
    .select(['number', 'length'])
    .select(sql<number>`sum(length) over (order by number ${sql.raw(order)})`.as('total_length'))
    .where('session_key', '=', sessionKey)
    .where('number', '>', after ?? 0)
    .orderBy('number', order)
    .limit(limit);
  const fitting = db
    .selectFrom(page.as('page'))
    .select('page.number')
    .where((of) =>
      of.or([of('page.total_length', '<=', maxLength), of('page.total_length', '=', of.ref('page.length'))]),
    );
  const rows = await db
    .selectFrom('turns')
    .select(['number', 'turn'])
    .where('session_key', '=', sessionKey)
    .where('number', 'in', fitting)
    .orderBy('number')
    .execute();
  const turns = rows.map(({ turn }) => JSON.parse(turn) as Turn);
  return { turns, last: rows.at(-1)?.number ?? total, total };
}
