import {
  AnswerText,
  cursorExpired,
  type Envelope,
  type LogSlice,
  type QueryError,
  type Turn,
} from '../../query/index.js';
import type { Db } from '../schema/tables.js';

/** The most that is read of a log at once, in characters, unless its next envelope is longer. */
const SLICE_LENGTH = 64 * 1024;
/** Rows that are read at once; a log whose envelopes came one by one has short rows. */
const SLICE_ROWS = 1_000;

/**
 * Reads what follows `after` in a log.
 *
 * @param run the number of its newest envelope, and whether that is `done`
 * @throws {QueryError} `cursor_expired`
 */
export async function readLog(
  db: Db,
  run: { id: string; lastSeq: number; ended: boolean },
  after: number,
): Promise<LogSlice> {
  const log = db.selectFrom('log').where('run_id', '=', run.id);
  if (after >= run.lastSeq) {
    const end = await log.select('position').orderBy('last', 'desc').limit(1).executeTakeFirst();
    return { first: after + 1, count: 0, lines: '', endOffset: end?.position ?? 0, ended: run.ended };
  }
  const following = log.where('last', '>', after).orderBy('last');
  const rows = await following
    .select(['first', 'last', 'start', 'position', 'envelopes'])
    .where((of) => of('start', '<', of(following.select('start').limit(1), '+', SLICE_LENGTH)))
    .limit(SLICE_ROWS)
    .execute();
  const [head] = rows;
  if (!head || head.first > after + 1) throw await expired(db, run, after);

  const texts = [
    head.envelopes
      .split('\n')
      .slice(after + 1 - head.first)
      .join('\n'),
  ];
  let { last, position } = head;
  let { length } = texts[0]!;
  for (const row of rows.slice(1)) {
    length += row.envelopes.length;
    if (length > SLICE_LENGTH) break;
    texts.push(row.envelopes);
    ({ last, position } = row);
  }
  const lines = texts.join('\n');
  return {
    first: after + 1,
    count: last - after,
    lines,
    endOffset: position,
    ended: run.ended && last === run.lastSeq,
  };
}

/** The text of a run's answer, as far as its log has it. */
export async function readText(db: Db, runId: string): Promise<string> {
  const text = new AnswerText();
  for (let after = 0; !text.isFull;) {
    const rows = await db
      .selectFrom('log')
      .select(['last', 'envelopes'])
      .where('run_id', '=', runId)
      .where('last', '>', after)
      .orderBy('last')
      .limit(SLICE_ROWS)
      .execute();
    if (rows.length === 0) break;
    for (const { envelopes } of rows) {
      for (const envelope of envelopes.split('\n')) text.add(JSON.parse(envelope) as Envelope);
    }
    after = rows.at(-1)!.last;
  }
  return text.value;
}

async function expired(db: Db, run: { id: string; lastSeq: number }, after: number): Promise<QueryError> {
  const row = await db
    .selectFrom('log')
    .select((of) => of.fn.min('first').as('first'))
    .where('run_id', '=', run.id)
    .executeTakeFirst();
  const oldest = row?.first ?? run.lastSeq + 1;
  return cursorExpired(after, oldest, run.lastSeq);
}

/** A page of a session's turns; see `RunStore.turns`. It costs as much as the page is long, however long the session is. */
export async function readTurns(
  db: Db,
  sessionKey: string,
  { after, limit }: { after: number | undefined; limit: number },
): Promise<{ turns: Turn[]; last: number; total: number } | undefined> {
  const session = await db
    .selectFrom('sessions')
    .select('turns')
    .where('key', '=', sessionKey)
    .executeTakeFirst();
  if (!session) return undefined;
  const total = session.turns;
  const page = db
    .selectFrom('turns')
    .select(['number', 'turn'])
    .where('session_key', '=', sessionKey)
    .limit(limit);
  const rows =
    after === undefined
      ? (await page.orderBy('number', 'desc').execute()).reverse()
      : await page.where('number', '>', after).orderBy('number').execute();
  const turns = rows.map(({ turn }) => JSON.parse(turn) as Turn);
  return { turns, last: rows.at(-1)?.number ?? total, total };
}
