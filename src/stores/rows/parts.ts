import type { TurnFile, TurnText } from '../../query/index.js';
import type { Db } from '../schema/tables.js';

/** Finds a part of a run or of its turn: a file or a long text. Undefined if the owner has none with this digest. */
export async function findPart(
  db: Db,
  owner: string,
  runId: string,
  sha256: string,
): Promise<TurnFile | TurnText | undefined> {
  const file = await findFile(db, owner, runId, sha256);
  if (file) return file;
  const text = await readText(db, owner, runId, sha256);
  return text === undefined ? undefined : { type: 'text', text };
}

async function findFile(db: Db, owner: string, runId: string, sha256: string): Promise<TurnFile | undefined> {
  const row = await db
    .selectFrom('files')
    .select(['name', 'mime_type', 'size'])
    .where('run_id', '=', runId)
    .where('sha256', '=', sha256)
    .where('owner', '=', JSON.stringify(owner))
    .executeTakeFirst();
  if (!row) return undefined;
  const { name, mime_type: mimeType, size } = row;
  return { type: 'file', name: JSON.parse(name) as string, mimeType, size, sha256 };
}

async function readText(db: Db, owner: string, runId: string, sha256: string) {
  const row = await db
    .selectFrom('texts')
    .select('text')
    .where('run_id', '=', runId)
    .where('sha256', '=', sha256)
    .where('owner', '=', JSON.stringify(owner))
    .executeTakeFirst();
  return row && (JSON.parse(row.text) as string);
}
