import { sql } from 'kysely';
import { cutAnswer, type RunRecord, type Turn, type TurnsPage } from '../../query/index.js';
import type { Db } from '../schema/tables.js';
import { insertTexts, lengthOfTexts, restoreTurns } from './texts.js';

/** Adds the turn of a run that has ended to its session. `parts` are the parts of the query as the table `runs` has them. */
export async function addTurn(
  db: Db,
  sessionKey: string,
  run: RunRecord,
  parts: string,
  text: string,
): Promise<void> {
  const { cut: answer, long } = cutAnswer(text);
  await insertTexts(
    db,
    run.owner,
    run.id,
    long.map(({ sha256 }) => ({ sha256, text: JSON.stringify(text) })),
  );
  const isCut = long.length > 0 || parts.includes('"truncated":true');
  const textsLength = isCut ? await lengthOfTexts(db, run.id) : 0;
  const rest = {
    ...answer,
    end: run.end!,
    createdAt: new Date(run.createdAt).toISOString(),
    endedAt: new Date(run.endedAt!).toISOString(),
  } satisfies Omit<Turn, 'runId' | 'parts'>;
  // The parts are JSON already. To parse and write them again would hold the event loop where they are long.
  const turn = `{"runId":${JSON.stringify(run.id)},"parts":${parts},${JSON.stringify(rest).slice(1)}`;
  const length = turn.length + textsLength;
  const { turns } = await db
    .updateTable('sessions')
    .set((of) => ({
      turns: of('turns', '+', 1),
      length: of('length', '+', length),
      used_at: run.endedAt!,
    }))
    .where('key', '=', sessionKey)
    .returning('turns')
    .executeTakeFirstOrThrow();
  await db
    .insertInto('turns')
    .values({
      session_key: sessionKey,
      number: turns,
      run_id: run.id,
      length,
      page_length: turn.length,
      turn,
    })
    .execute();
}

/**
 * Reads a page of a session's turns; see `RunStore.turns`. The cost depends on the length of the page, not on that of the
 * session.
 */
export async function readTurns(
  db: Db,
  sessionKey: string,
  { after, limit, maxLength = Number.MAX_SAFE_INTEGER, cutTexts = false }: TurnsPage,
): Promise<{ turns: Turn[]; last: number; total: number } | undefined> {
  const session = await db
    .selectFrom('sessions')
    .select('turns')
    .where('key', '=', sessionKey)
    .executeTakeFirst();
  if (!session) return undefined;
  const total = session.turns;
  const order = after === undefined ? 'desc' : 'asc';
  const length = cutTexts ? 'page_length' : 'length';
  // The length of each turn together with those before it in the page: other turns are never read.
  const page = db
    .selectFrom('turns')
    .select(['number', `${length} as length`])
    .select(sql<number>`sum(${sql.ref(length)}) over (order by number ${sql.raw(order)})`.as('total_length'))
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
  const cut = rows.map(({ turn }) => JSON.parse(turn) as Turn);
  const turns = cutTexts ? cut : await restoreTurns(db, cut);
  return { turns, last: rows.at(-1)?.number ?? total, total };
}
