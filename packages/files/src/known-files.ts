import { QueryError } from 'nest-agent-query';
import type { FilePart, QueryContext, QueryPart } from 'nest-agent-query';
import { filesNamed, inEncoding } from './named-files.js';
import { parseRequest } from './request.js';

/** Files of one request, at most: the newest ones. */
const MAX_FILES = 100;

/**
 * The files that a request may use: those of the query, and then those of the earlier turns of its session, newest first. A
 * file that was sent again under the same name counts once. Files that are no longer kept are left out. The encoding that a later
 * text has requested is that of the file.
 */
export async function knownFiles(
  parts: QueryPart[],
  { session, history }: Pick<QueryContext, 'session' | 'history'>,
): Promise<FilePart[]> {
  const files = parts.filter((part) => part.type === 'file');
  const known = new Set(files.map(keyOf));
  const encodings: { encoding?: string; of?: string }[] = [];
  for (const turn of history.toReversed()) {
    for (const part of turn.parts.toReversed()) {
      const request = part.type === 'text' ? parseRequest(part.text) : undefined;
      if (request?.kind === 'describe' && request.encoding !== undefined) encodings.push(request);
    }
    for (const part of turn.parts) {
      if (part.type !== 'file' || known.has(keyOf(part)) || files.length >= MAX_FILES) continue;
      known.add(keyOf(part));
      const file = await session!.file(part.sha256).catch(undefinedIfGone);
      if (!file) continue;
      const { name, mimeType, sha256 } = part;
      const newest = encodings.find(({ of }) => filesNamed([part], of).length > 0) ?? {};
      files.push(...inEncoding([{ type: 'file' as const, name, mimeType, sha256, file }], newest));
    }
  }
  return files;
}

function keyOf({ name, sha256 }: { name: string; sha256: string }): string {
  return `${sha256} ${name}`;
}

function undefinedIfGone(error: unknown): undefined {
  if (!(error instanceof QueryError)) throw error;
}
