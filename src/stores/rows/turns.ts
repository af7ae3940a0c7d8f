import { sql } from 'kysely';
import {
  cutAnswer,
  type Envelope,
  type LongText,
  type NumberedTurn,
  type RunRecord,
  type TextsOfTurn,
  type Turn,
  type TurnAnswer,
  type TurnsPage,
  wholeTurn,
  withMessageTexts,
  withoutMessageTexts,
} from '../../query/index.js';
import type { Db } from '../schema/tables.js';
import { valueOf } from './run-rows.js';

/** How many turns one statement reads the texts of. */
const BATCH = 100;

/**
 * A turn as its row has it. The contents of messages are in the text only; without `envelopes`, the text is the only message.
 */
type StoredTurn = Omit<Turn, 'envelopes'> & { envelopes?: Envelope[] };

/** Adds the turn of a run that has ended to its session. `parts` are the parts of the query as the table `runs` has them. */
export async function addTurn(
  db: Db,
  sessionKey: string,
  run: RunRecord,
  parts: string,
  answer: TurnAnswer,
): Promise<void> {
  const { text, envelopesTruncated } = answer;
  const { cut, long } = cutAnswer(text);
  const envelopes = withoutMessageTexts(answer);
  await insertTexts(
    db,
    run.owner,
    run.id,
    long.map(({ sha256 }) => ({ sha256, text: JSON.stringify(text) })),
  );
  const isCut = long.length > 0 || parts.includes('"truncated":true');
  const textsLength = isCut ? await lengthOfTexts(db, run.id) : 0;
  const rest = {
    ...cut,
    ...(envelopes && { envelopes }),
    ...(envelopesTruncated && { envelopesTruncated }),
    end: run.end!,
    createdAt: new Date(run.createdAt).toISOString(),
    endedAt: new Date(run.endedAt!).toISOString(),
  } satisfies Omit<StoredTurn, 'runId' | 'parts'>;
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
      // A page shows the text a second time, as the contents of messages.
      page_length: turn.length + JSON.stringify(cut.text).length,
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
) {
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
    .select(['number', 'run_id', 'turn'])
    .where('session_key', '=', sessionKey)
    .where('number', 'in', fitting)
    .orderBy('number')
    .execute();
  const stored = rows.flatMap(({ run_id, turn }) => valueOf<StoredTurn>(turn, run_id) ?? []);
  const shown = cutTexts ? stored : await restoreTexts(db, stored);
  const turns = shown.map(wholeEnvelopes);
  return { turns, last: rows.at(-1)?.number ?? total, total };
}

/** Reads the turn of a run in a session; see `RunStore.turn`. */
export async function readTurn(db: Db, sessionKey: string, runId: string): Promise<NumberedTurn | undefined> {
  const row = await db
    .selectFrom('turns')
    .select(['number', 'turn'])
    .where('run_id', '=', runId)
    .where('session_key', '=', sessionKey)
    .executeTakeFirst();
  const stored = row && valueOf<StoredTurn>(row.turn, runId);
  return stored && { turn: wholeEnvelopes(stored), number: row.number };
}

/** A turn with the contents of its messages, which are in its text only. */
function wholeEnvelopes<T extends StoredTurn>(turn: T) {
  return { ...turn, envelopes: withMessageTexts(turn.envelopes, turn.text) };
}

/** Stores the long texts of a run, with the texts as JSON. Its turn has only their beginnings. */
export async function insertTexts(db: Db, owner: string, runId: string, texts: LongText[]): Promise<void> {
  for (const { sha256, text } of texts) {
    // One text may occur several times in a run.
    await db
      .insertInto('texts')
      .values({ run_id: runId, sha256, owner: JSON.stringify(owner), length: text.length, text })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
}

/** The length of all long texts of a run, in characters of JSON. */
export async function lengthOfTexts(db: Db, runId: string): Promise<number> {
  const { length } = await db
    .selectFrom('texts')
    .select((of) => of.fn.sum<string | number | null>('length').as('length'))
    .where('run_id', '=', runId)
    .executeTakeFirstOrThrow();
  return Number(length ?? 0);
}

/** Restores turns, or the queries of runs, whose long texts were cut. */
export async function restoreTexts<T extends TextsOfTurn>(db: Db, turns: T[]): Promise<T[]> {
  const cut = turns.filter((turn) => turn.truncated ?? turn.parts.some((part) => 'truncated' in part));
  const texts = new Map<string, string | undefined>();
  const keyOf = (runId: string, sha256: string) => `${runId} ${sha256}`;
  for (let i = 0; i < cut.length; i += BATCH) {
    const runIds = cut.slice(i, i + BATCH).map(({ runId }) => runId);
    const rows = await db
      .selectFrom('texts')
      .select(['run_id', 'sha256', 'text'])
      .where('run_id', 'in', runIds)
      .execute();
    for (const { run_id, sha256, text } of rows)
      texts.set(keyOf(run_id, sha256), valueOf<string>(text, run_id));
  }
  return turns.map((turn) => wholeTurn(turn, (sha256) => texts.get(keyOf(turn.runId, sha256))));
}
