import { type FilePart, type QueryContext, QueryError, type TurnFile } from '../query/index.js';

/** Opens a file of an earlier turn as a part; undefined if it is no longer kept. */
export async function historyFile(
  { session }: Pick<QueryContext, 'session'>,
  { name, mimeType, sha256 }: Pick<TurnFile, 'name' | 'mimeType' | 'sha256'>,
): Promise<FilePart | undefined> {
  try {
    const file = await session?.file(sha256);
    return file && { type: 'file', name, mimeType, sha256, file };
  } catch (error) {
    if (error instanceof QueryError && error.code === 'not_found') return undefined;
    throw error;
  }
}
