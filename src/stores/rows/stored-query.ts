import type { Selectable } from 'kysely';
import {
  type Admission,
  cutParts,
  jsonOf,
  KeptAnswer,
  type LongText,
  EventLoopShare,
  runNotFound,
  type StoredQuery,
} from '../../query/index.js';
import type { Db, Tables } from '../schema/tables.js';
import { readAnswer, voidRanges } from './read-log.js';
import { restoreTexts } from './turns.js';

/** A query as the tables have it. */
export interface WrittenQuery {
  /** The parts as JSON, with the long texts of a session cut. */
  parts: string;
  kwargs: string;
  /** The texts that were cut, as JSON. */
  texts: LongText[];
}

/** What `readQuery` reads of a run. */
export type QueryRow = Pick<
  Selectable<Tables['runs']>,
  'parts' | 'kwargs' | 'checkpoint' | 'attempt' | 'void'
>;

/** Writes a query as JSON before its transaction begins. Other requests have their turn during this. */
export async function writtenQuery({ parts, kwargs, session }: Admission): Promise<WrittenQuery> {
  const texts: LongText[] = [];
  if (!session) return { parts: await jsonOf(parts), kwargs: await jsonOf(kwargs), texts };
  const cut: Admission['parts'] = [];
  const share = new EventLoopShare();
  for (const part of parts) {
    const result = cutParts([part]);
    cut.push(...result.cut);
    for (const { sha256, text } of result.long) texts.push({ sha256, text: await jsonOf(text) });
    if (share.isUsedUp) await share.next();
  }
  return { parts: await jsonOf(cut), kwargs: await jsonOf(kwargs), texts };
}

/**
 * Reads what the next attempt of an unfinished run needs.
 *
 * @param row what its start has read of it, if that was all
 */
export async function readQuery(db: Db, owner: string, runId: string, row?: QueryRow): Promise<StoredQuery> {
  row ??= await db
    .selectFrom('runs')
    .select(['parts', 'kwargs', 'checkpoint', 'attempt', 'void'])
    .where('id', '=', runId)
    .where('owner', '=', JSON.stringify(owner))
    .where('ended_at', 'is', null)
    .executeTakeFirst();
  if (!row) throw runNotFound();
  const isFirst = row.attempt === 1;
  const cut = { runId, parts: JSON.parse(row.parts!) as StoredQuery['parts'], text: '' };
  const [query] = await restoreTexts(db, [cut]);
  return {
    parts: query!.parts,
    kwargs: JSON.parse(row.kwargs!) as StoredQuery['kwargs'],
    answer: isFirst ? new KeptAnswer().value : await readAnswer(db, runId, voidRanges(row.void)),
    checkpoint: row.checkpoint ?? undefined,
  };
}
