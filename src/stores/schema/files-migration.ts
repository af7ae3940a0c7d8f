import type { Kysely } from 'kysely';
import type { Turn } from '../../query/index.js';
import type { Tables } from './tables.js';

/** How many turns are read at once. */
const BATCH = 100;

/** Records the files of queries, for their download: those of the turns of earlier versions too. */
export async function addFiles(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  await schema.alterTable('runs').addColumn('path', 'text').execute();
  await schema
    .createTable('files')
    .addColumn('run_id', 'text', (column) => column.notNull())
    .addColumn('sha256', 'text', (column) => column.notNull())
    .addColumn('owner', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('mime_type', 'text', (column) => column.notNull())
    .addColumn('size', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('files_key', ['run_id', 'sha256'])
    .execute();
  await recordFiles(db);
}

/** Of a session whose runs are all gone, the owner is not known: its files can be read by later turns only. */
async function recordFiles(
  db: Kysely<Pick<Tables, 'file_uses' | 'files' | 'sessions' | 'turns'>>,
): Promise<void> {
  for (let after = ''; ;) {
    const turns = await db
      .selectFrom('turns')
      .innerJoin('sessions', 'sessions.key', 'turns.session_key')
      .select(['turns.run_id', 'turns.turn', 'sessions.owner'])
      .where('turns.run_id', 'in', (of) => of.selectFrom('file_uses').select('file_uses.run_id'))
      .where('turns.run_id', '>', after)
      .where('sessions.owner', 'is not', null)
      .orderBy('turns.run_id')
      .limit(BATCH)
      .execute();
    for (const { run_id, turn, owner } of turns) {
      for (const part of (JSON.parse(turn) as Turn).parts) {
        if (part.type !== 'file') continue;
        const { sha256, name, mimeType, size } = part;
        await db
          .insertInto('files')
          .values({ run_id, sha256, owner: owner!, name: JSON.stringify(name), mime_type: mimeType, size })
          .onConflict((conflict) => conflict.columns(['run_id', 'sha256']).doNothing())
          .execute();
      }
    }
    if (turns.length < BATCH) return;
    after = turns.at(-1)!.run_id;
  }
}
