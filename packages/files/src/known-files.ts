import { QueryError } from 'nest-agent-query';
import type { FilePart, QueryContext, QueryPart } from 'nest-agent-query';

/** Files of one request, at most: the newest ones. */
const MAX_FILES = 100;

/**
 * The files that a request may use: those of the query, and then those of the earlier turns of its session, newest first. A
 * file that was sent again under the same name counts once. Files that are no longer kept are left out.
 */
export async function knownFiles(
  parts: QueryPart[],
  { session, history }: Pick<QueryContext, 'session' | 'history'>,
): Promise<FilePart[]> {
  const files = parts.filter((part) => part.type === 'file');
  const known = new Set(files.map(keyOf));
  for (const turn of history.toReversed()) {
    for (const part of turn.parts) {
      if (part.type !== 'file' || known.has(keyOf(part)) || files.length >= MAX_FILES) continue;
      known.add(keyOf(part));
      const file = await session!.file(part.sha256).catch(undefinedIfGone);
      if (file)
        files.push({ type: 'file', name: part.name, mimeType: part.mimeType, sha256: part.sha256, file });
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
