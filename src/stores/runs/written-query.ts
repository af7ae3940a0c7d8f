import { type Admission, cutParts, jsonOf, type LongText, LoopShare } from '../../query/index.js';

/** A query as the tables have it. */
export interface WrittenQuery {
  /** The parts as JSON, with the long texts of a session cut. */
  parts: string;
  /** JSON. */
  kwargs: string;
  /** The texts that were cut, as JSON. */
  texts: LongText[];
}

/** Writes a query as JSON before its transaction begins. Other requests have their turn during this. */
export async function writtenQuery({ parts, kwargs, session }: Admission): Promise<WrittenQuery> {
  const texts: LongText[] = [];
  if (!session) return { parts: await jsonOf(parts), kwargs: await jsonOf(kwargs), texts };
  const cut: Admission['parts'] = [];
  const share = new LoopShare();
  for (const part of parts) {
    const result = cutParts([part]);
    cut.push(...result.cut);
    for (const { sha256, text } of result.long) texts.push({ sha256, text: await jsonOf(text) });
    if (share.isUsedUp) await share.next();
  }
  return { parts: await jsonOf(cut), kwargs: await jsonOf(kwargs), texts };
}
