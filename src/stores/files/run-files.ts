import type { TurnFile } from '../../query/index.js';
import type { Db } from '../schema/tables.js';

/** Records the files of a run. A file whose content the run has already is left out. */
export async function insertFiles(db: Db, owner: string, runId: string, files: TurnFile[]): Promise<void> {
  for (const { name, mimeType, size, sha256 } of files) {
    await db
      .insertInto('files')
      .values({
        run_id: runId,
        sha256,
        owner: JSON.stringify(owner),
        name: JSON.stringify(name),
        mime_type: mimeType,
        size,
      })
      .onConflict((conflict) => conflict.columns(['run_id', 'sha256']).doNothing())
      .execute();
  }
}

/** Returns a file of a run or of its turn. Undefined if the owner has none with this digest. */
export async function findFile(
  db: Db,
  owner: string,
  runId: string,
  sha256: string,
): Promise<TurnFile | undefined> {
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
