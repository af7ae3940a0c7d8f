import type { Kysely } from 'kysely';
import { titleOf, type Turn } from '../../query/index.js';
import { ownerHashOf } from './keys.js';
import type { Tables } from './tables.js';

/** How many rows are read or written at once. */
const BATCH = 500;

type Listed = Kysely<
  Pick<Tables, 'runs' | 'sessions' | 'turns'> & { owner_hashes: { owner: string; owner_hash: number } }
>;

/**
 * Gives the runs and sessions of earlier versions what lists need. Of a session that has no run any more, the owner is not known.
 */
export async function addLists(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  await schema.alterTable('runs').addColumn('owner_hash', 'bigint').execute();
  await schema.alterTable('sessions').addColumn('owner', 'text').execute();
  await schema.alterTable('sessions').addColumn('owner_hash', 'bigint').execute();
  await schema.alterTable('sessions').addColumn('id', 'text').execute();
  await schema.alterTable('sessions').addColumn('title', 'text').execute();
  await hashOwners(db);
  await nameSessions(db);

  const index = (name: string, on: string, columns: string[]) =>
    schema.createIndex(name).on(on).columns(columns);
  // The status, so that a list of few of many runs does not read the others.
  await index('runs_listed', 'runs', ['owner_hash', 'created_at', 'status']).execute();
  await index('sessions_listed', 'sessions', ['owner_hash', 'used_at']).execute();
  // Most runs may have no session. Those of a session are listed in the order of their times.
  await schema.dropIndex('runs_session').execute();
  await index('runs_session', 'runs', ['session_key', 'created_at'])
    .where('session_key' as never, 'is not', null)
    .execute();
  // Of two indexes that it takes for equally good, SQLite uses the newer one. For the queue of a session this must be the one.
  await schema.dropIndex('runs_queue').execute();
  await index('runs_queue', 'runs', ['session_key', 'queue_position'])
    .where('ended_at' as never, 'is', null)
    .execute();
}

/** In one statement for all runs: there is no index by their owners. */
async function hashOwners(db: Listed): Promise<void> {
  await db.schema
    .createTable('owner_hashes')
    .addColumn('owner', 'text')
    .addColumn('owner_hash', 'bigint')
    .execute();
  const rows = await db
    .selectFrom('runs')
    .select('owner')
    .where('owner', 'is not', null)
    .distinct()
    .execute();
  const owners = rows.map(({ owner }) => owner!);
  while (owners.length > 0) {
    const values = owners
      .splice(-BATCH)
      .map((owner) => ({ owner, owner_hash: ownerHashOf(JSON.parse(owner) as string) }));
    await db.insertInto('owner_hashes').values(values).execute();
  }
  await db
    .updateTable('runs')
    .from('owner_hashes')
    .set((of) => ({ owner_hash: of.ref('owner_hashes.owner_hash') }))
    .whereRef('runs.owner', '=', 'owner_hashes.owner')
    .execute();
  await db.schema.dropTable('owner_hashes').execute();
}

async function nameSessions(db: Listed): Promise<void> {
  for (let after = ''; ;) {
    const named = await db
      .selectFrom('runs')
      .select(['session_key as key', 'owner', 'owner_hash', 'session as id'])
      .distinct()
      .where('session_key', '>', after)
      .orderBy('session_key')
      .limit(BATCH)
      .execute();
    for (const { key, ...name } of named) {
      const title = await titleOfSession(db, key!);
      await db
        .updateTable('sessions')
        .set({ ...name, title })
        .where('key', '=', key)
        .execute();
    }
    if (named.length < BATCH) return;
    after = named.at(-1)!.key!;
  }
}

/** The title by the oldest turn that is kept, as JSON. */
async function titleOfSession(db: Listed, key: string): Promise<string | null> {
  const oldest = await db
    .selectFrom('turns')
    .select('turn')
    .where('session_key', '=', key)
    .orderBy('number')
    .limit(1)
    .executeTakeFirst();
  const title = oldest && titleOf((JSON.parse(oldest.turn) as Turn).parts);
  return title === undefined ? null : JSON.stringify(title);
}
