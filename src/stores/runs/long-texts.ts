import { type LongText, type TextsOfTurn, type Turn, wholeParts, wholeTurn } from '../../query/index.js';
import type { Db } from '../schema/tables.js';
import { valueOf } from './run-rows.js';

const BATCH = 100;

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

/** Reads one long text of a run. Undefined if the owner has none with this digest. */
export async function readText(db: Db, owner: string, runId: string, sha256: string) {
  const row = await db
    .selectFrom('texts')
    .select('text')
    .where('run_id', '=', runId)
    .where('sha256', '=', sha256)
    .where('owner', '=', JSON.stringify(owner))
    .executeTakeFirst();
  return row && (JSON.parse(row.text) as string);
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

/** Restores the parts of a query whose long texts were cut. */
export async function restoreParts(db: Db, runId: string, parts: Turn['parts']): Promise<Turn['parts']> {
  if (!parts.some((part) => part.type === 'text' && part.truncated)) return parts;
  const texts = await readTexts(db, [runId]);
  return wholeParts(parts, (sha256) => texts.get(`${runId} ${sha256}`));
}

/** Restores turns whose long texts were cut. */
export async function restoreTurns<T extends TextsOfTurn>(db: Db, turns: T[]): Promise<T[]> {
  const cut = turns.filter((turn) => turn.truncated ?? turn.parts.some((part) => 'truncated' in part));
  const texts = new Map<string, string | undefined>();
  for (let i = 0; i < cut.length; i += BATCH) {
    const runIds = cut.slice(i, i + BATCH).map(({ runId }) => runId);
    for (const [key, text] of await readTexts(db, runIds)) texts.set(key, text);
  }
  return turns.map((turn) => wholeTurn(turn, (sha256) => texts.get(`${turn.runId} ${sha256}`)));
}

/** The long texts of runs, by `{runId} {sha256}`. */
async function readTexts(db: Db, runIds: string[]): Promise<Map<string, string | undefined>> {
  const rows = await db
    .selectFrom('texts')
    .select(['run_id', 'sha256', 'text'])
    .where('run_id', 'in', runIds)
    .execute();
  return new Map(rows.map((row) => [`${row.run_id} ${row.sha256}`, valueOf<string>(row.text, row.run_id)]));
}
