import { createHash } from 'node:crypto';
import type { TurnFile, TurnText } from 'nest-agent-query-client';
import { writeJson } from '../platform/write-json.js';
import type { Query } from '../ports/agent-handler.js';

/** The parts of a query as a store keeps them: files as name, type, size and digest. */
export function storedParts(query: Query): (TurnText | TurnFile)[] {
  return query.parts.map((part) => {
    if (part.type === 'text') return { type: 'text', text: part.text };
    const { name, mimeType, sha256, file } = part;
    return { type: 'file', name, mimeType, size: file.size, sha256 };
  });
}

/** The SHA-256 of a query. The order of members and the white space of the JSON make no difference. */
export async function queryDigest(query: Query): Promise<string> {
  const hash = createHash('sha256');
  await writeJson([storedParts(query), query.kwargs], (piece) => hash.update(piece), true);
  return hash.digest('hex');
}
