import { createHash } from 'node:crypto';
import type { FilesHandler } from '../../packages/files/src/index.js';
import type { FilePart, QueryContext, QueryPart } from '../../src/index.js';
import { contextOf } from './handler-context.js';

/** A file of a query. */
export function filePart(name: string, content: string | Uint8Array): FilePart {
  const sha256 = createHash('sha256').update(content).digest('hex');
  const file = new File([content], name);
  return { type: 'file', name, mimeType: 'application/octet-stream', sha256, file };
}

/** The messages of the agent, joined. */
export async function answerOf(
  handler: FilesHandler,
  parts: (QueryPart | string)[],
  context: Partial<QueryContext> = {},
): Promise<string> {
  const query = {
    parts: parts.map((part): QueryPart => (typeof part === 'string' ? { type: 'text', text: part } : part)),
    kwargs: {},
  };
  let answer = '';
  for await (const { type, data } of handler.handle(query, contextOf(context))) {
    if (type === 'message') answer += (data as { content: string }).content;
  }
  return answer;
}
