import { Buffer } from 'node:buffer';
import { createHash, randomUUID } from 'node:crypto';
import type { TurnFile, TurnText } from 'nest-agent-query-client';
import { writeJson } from '../platform/write-json.js';
import type { Query } from '../ports/agent-handler.js';
import { type EarlierText, partsOf } from './earlier-texts.js';

/** Copied, because V8 would keep the result of `randomUUID` as a tree of its pieces. */
export function newRunId(): string {
  return Buffer.from(randomUUID()).toString('latin1');
}

/** The session of a query; undefined if it names none. */
export function sessionIdOf({ kwargs }: Query): string | undefined {
  const sessionId = kwargs['session_id'];
  return typeof sessionId === 'string' && sessionId !== '' ? sessionId : undefined;
}

/** The parts of a query as a store keeps them, after the earlier texts: files as name, type, size and digest. */
export function storedParts(query: Query, earlier?: readonly EarlierText[]): (TurnText | TurnFile)[] {
  const parts = query.parts.map((part): TurnText | TurnFile => {
    if (part.type === 'text') return { type: 'text', text: part.text };
    const { name, mimeType, sha256, file } = part;
    return { type: 'file', name, mimeType, size: file.size, sha256 };
  });
  return earlier ? [...partsOf(earlier), ...parts] : parts;
}

/** The metadata of a query; undefined if there is none. */
export function metadataOf({ metadata = {} }: Query): Query['metadata'] {
  return Object.keys(metadata).length > 0 ? metadata : undefined;
}

/**
 * The SHA-256 of a query, of the earlier texts, and of the turns that it replaces. The order of members and the white space of
 * the JSON make no difference.
 */
export async function queryDigest(
  query: Query,
  afterTurn?: number,
  earlier?: readonly EarlierText[],
): Promise<string> {
  const hash = createHash('sha256');
  const metadata = metadataOf(query);
  const all = [
    ...[storedParts(query, earlier), query.kwargs],
    ...(metadata ? [metadata] : []),
    ...(afterTurn === undefined ? [] : [afterTurn]),
  ];
  await writeJson(all, (piece) => hash.update(piece), true);
  return hash.digest('hex');
}

/** What the bytes of files show that their callers have not declared: sentences for the log. */
export function mismatchesOf({ parts }: Query): string[] {
  return parts.flatMap((part) =>
    part.type === 'file' && part.detectedMimeType !== undefined
      ? [`"${part.name}" is declared as ${part.mimeType}, but its bytes are ${part.detectedMimeType}.`]
      : [],
  );
}
