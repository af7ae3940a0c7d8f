import { type Admission, cutParts, type LongText, writeJson } from '../../query/index.js';

/** A query as the tables have it. */
export interface StoredQuery {
  /** The parts as JSON, with the long texts of a session cut. */
  parts: string;
  /** JSON. */
  kwargs: string;
  /** The texts that were cut, as JSON. */
  texts: LongText[];
}

/** Writes a query as JSON before its transaction begins. Other requests have their turn during this. */
export async function storedQuery({ parts, kwargs, session }: Admission): Promise<StoredQuery> {
  const { cut, long } = session ? cutParts(parts) : { cut: parts, long: [] };
  const texts: LongText[] = [];
  for (const { sha256, text } of long) texts.push({ sha256, text: await jsonOf(text) });
  return { parts: await jsonOf(cut), kwargs: await jsonOf(kwargs), texts };
}

async function jsonOf(value: unknown): Promise<string> {
  let json = '';
  await writeJson(value, (piece) => (json += piece));
  return json;
}
