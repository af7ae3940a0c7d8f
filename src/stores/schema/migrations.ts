import { type Kysely, type Migration, Migrator, sql } from 'kysely';
import { ownerKeyOf } from './keys.js';
import { addFiles } from './files-migration.js';
import { addLists } from './lists-migration.js';
import type { Tables } from './tables.js';

/**
 * The migrations, in the order in which they are applied. Each is applied once. WARNING: never change a migration that was
 * released; add a new one.
 */
const MIGRATIONS: Record<string, (db: Kysely<unknown>) => Promise<void>> = {
  '0001_runs': async (db) => {
    const table = (name: string) => db.schema.createTable(name);
    await table('processes')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('beat', 'bigint', (column) => column.notNull())
      .execute();
    await table('sessions')
      .addColumn('key', 'text', (column) => column.primaryKey())
      .addColumn('places', 'bigint', (column) => column.notNull())
      .addColumn('turns', 'bigint', (column) => column.notNull())
      .addColumn('length', 'bigint', (column) => column.notNull())
      .addColumn('used_at', 'bigint', (column) => column.notNull())
      .execute();
    await table('runs')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('owner', 'text')
      .addColumn('session_key', 'text')
      .addColumn('session', 'text')
      .addColumn('place', 'bigint')
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('started_at', 'bigint')
      .addColumn('ended_at', 'bigint')
      .addColumn('outcome', 'text')
      .addColumn('last_seq', 'bigint')
      .addColumn('log_length', 'bigint')
      .addColumn('query', 'text')
      .addColumn('idempotency_key', 'text')
      .addColumn('digest', 'text')
      .addColumn('process', 'text', (column) => column.notNull())
      .execute();
    await table('log')
      .addColumn('run_id', 'text', (column) => column.notNull())
      .addColumn('first', 'bigint', (column) => column.notNull())
      .addColumn('last', 'bigint', (column) => column.notNull())
      .addColumn('start', 'bigint', (column) => column.notNull())
      .addColumn('position', 'bigint', (column) => column.notNull())
      .addColumn('envelopes', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('log_key', ['run_id', 'last'])
      .execute();
    await table('turns')
      .addColumn('session_key', 'text', (column) => column.notNull())
      .addColumn('number', 'bigint', (column) => column.notNull())
      .addColumn('run_id', 'text', (column) => column.notNull())
      .addColumn('length', 'bigint', (column) => column.notNull())
      .addColumn('turn', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('turns_key', ['session_key', 'number'])
      .execute();

    const index = (name: string, on: string) => db.schema.createIndex(name).on(on);
    await index('sessions_used', 'sessions').column('used_at').execute();
    await index('runs_line', 'runs')
      .columns(['session_key', 'place'])
      .where('ended_at' as never, 'is', null)
      .execute();
    await index('runs_lost', 'runs')
      .columns(['process', 'created_at'])
      .where('ended_at' as never, 'is', null)
      .execute();
    await index('runs_ended', 'runs').column('ended_at').execute();
    await index('runs_session', 'runs').column('session_key').execute();
    await index('runs_idempotency', 'runs').unique().column('idempotency_key').execute();
    await index('turns_run', 'turns').column('run_id').execute();
  },

  '0002_files': async (db) => {
    await db.schema
      .createTable('file_uses')
      .addColumn('run_id', 'text', (column) => column.notNull())
      .addColumn('sha256', 'text', (column) => column.notNull())
      .addColumn('pinned_at', 'bigint')
      .addPrimaryKeyConstraint('file_uses_key', ['run_id', 'sha256'])
      .execute();
    await db.schema.createIndex('file_uses_content').on('file_uses').column('sha256').execute();
    await db.schema
      .createTable('contents')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('sha256', 'text', (column) => column.notNull())
      .addColumn('size', 'bigint', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('completed_at', 'bigint')
      .addColumn('process', 'text', (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex('contents_digest')
      .unique()
      .on('contents')
      .column('sha256')
      .where('completed_at' as never, 'is not', null)
      .execute();
    await db.schema
      .createTable('chunks')
      .addColumn('content_id', 'text', (column) => column.notNull())
      .addColumn('number', 'bigint', (column) => column.notNull())
      .addColumn('bytes', 'bytea', (column) => column.notNull())
      .addPrimaryKeyConstraint('chunks_key', ['content_id', 'number'])
      .execute();
  },

  // Envelopes were separated by a record separator before, and by a line feed since.
  '0003_lines': async (db) => {
    await (db as Kysely<Pick<Tables, 'log'>>)
      .updateTable('log')
      .set((of) => ({
        envelopes: of.fn<string>('replace', ['envelopes', of.val('\x1e'), of.val('\n')]),
      }))
      .execute();
  },

  // The schema uses the same words as the code. A column keeps its data when it is renamed.
  '0004_words': async (db) => {
    const { schema } = db;
    await schema.alterTable('processes').renameColumn('beat', 'heartbeat').execute();
    await schema.alterTable('sessions').renameColumn('places', 'queue_positions').execute();
    await schema.alterTable('runs').renameColumn('place', 'queue_position').execute();
    await schema.alterTable('log').renameColumn('start', 'start_offset').execute();
    await schema.alterTable('log').renameColumn('position', 'end_offset').execute();

    // SQLite cannot rename an index. Both contain unfinished runs only, and so are small.
    await schema.dropIndex('runs_line').execute();
    await schema
      .createIndex('runs_queue')
      .on('runs')
      .columns(['session_key', 'queue_position'])
      .where('ended_at' as never, 'is', null)
      .execute();
    await schema.dropIndex('runs_lost').execute();
    await schema
      .createIndex('runs_orphaned')
      .on('runs')
      .columns(['process', 'created_at'])
      .where('ended_at' as never, 'is', null)
      .execute();
  },

  // Long texts move out of the turns: a page of turns does not read them. What earlier versions stored stays as it is.
  '0005_texts': async (db) => {
    const { schema } = db;
    await schema
      .createTable('texts')
      .addColumn('run_id', 'text', (column) => column.notNull())
      .addColumn('sha256', 'text', (column) => column.notNull())
      .addColumn('owner', 'text', (column) => column.notNull())
      .addColumn('length', 'bigint', (column) => column.notNull())
      .addColumn('text', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('texts_key', ['run_id', 'sha256'])
      .execute();
    await schema.alterTable('turns').addColumn('page_length', 'bigint').execute();
    const turns = db as Kysely<Pick<Tables, 'turns'>>;
    await turns
      .updateTable('turns')
      .set((of) => ({ page_length: of.ref('length') }))
      .execute();

    await schema.alterTable('runs').addColumn('parts', 'text').execute();
    await schema.alterTable('runs').addColumn('kwargs', 'text').execute();
    const runs = db as Kysely<{ runs: Tables['runs'] & { query: string | null } }>;
    const unfinished = await runs
      .selectFrom('runs')
      .select(['id', 'query'])
      .where('query', 'is not', null)
      .execute();
    for (const { id, query } of unfinished) {
      const { parts, kwargs } = JSON.parse(query!) as { parts: unknown; kwargs: unknown };
      await runs
        .updateTable('runs')
        .set({ parts: JSON.stringify(parts), kwargs: JSON.stringify(kwargs) })
        .where('id', '=', id)
        .execute();
    }
    await schema.alterTable('runs').dropColumn('query').execute();
  },

  // Any process may start a waiting run, and a run may have several attempts.
  '0006_attempts': async (db) => {
    const { schema } = db;
    const add = (name: string) => schema.alterTable('runs').addColumn(name, 'text').execute();
    const count = (name: string, value: number) =>
      schema
        .alterTable('runs')
        .addColumn(name, 'bigint', (column) => column.notNull().defaultTo(value))
        .execute();
    await count('attempt', 1);
    await count('detached', 0);
    await add('checkpoint');
    await add('void');
    await schema.alterTable('runs').addColumn('checkpoint_seq', 'bigint').execute();
    await schema.alterTable('runs').addColumn('ready_at', 'bigint').execute();
    await schema
      .alterTable('runs')
      .addColumn('module', 'text', (column) => column.notNull().defaultTo(''))
      .execute();
    await schema
      .createIndex('runs_ready')
      .on('runs')
      .columns(['module', 'ready_at'])
      .where('status' as never, '=', 'waiting')
      .execute();
  },

  // The sweep finds what is old, and adds up lengths, in pages of an index.
  '0007_retention': async (db) => {
    const { schema } = db;
    const replace = async (name: string, table: string, columns: string[]) => {
      await schema.dropIndex(name).execute();
      await schema.createIndex(name).on(table).columns(columns).execute();
    };
    await replace('runs_ended', 'runs', ['ended_at', 'log_length']);
    await replace('sessions_used', 'sessions', ['used_at', 'length']);
    await schema.createIndex('contents_completed').on('contents').columns(['completed_at', 'size']).execute();
    await schema
      .createIndex('file_uses_pinned')
      .on('file_uses')
      .column('pinned_at')
      .where('pinned_at' as never, 'is not', null)
      .execute();
  },

  // Owners get slots in turn, and may have limits.
  '0008_owners': async (db) => {
    const { schema } = db;
    await schema.alterTable('runs').addColumn('owner_key', 'text').execute();
    await schema
      .alterTable('runs')
      .addColumn('round', 'bigint', (column) => column.notNull().defaultTo(0))
      .execute();
    await schema.alterTable('runs').addColumn('deferred_at', 'bigint').execute();
    await giveRounds(db);

    const index = (name: string, columns: string[]) => schema.createIndex(name).on('runs').columns(columns);
    const isWaiting = [`status` as never, '=', sql.lit('waiting')] as const;
    await schema.dropIndex('runs_ready').execute();
    await index('runs_ready', ['module', 'round', 'ready_at', 'created_at'])
      .where(...isWaiting)
      .where('ready_at' as never, 'is not', null)
      .execute();
    await index('runs_waiting', ['module', 'owner_key', 'deferred_at'])
      .where(...isWaiting)
      .execute();
    await index('runs_active', ['owner_key', 'status', 'round'])
      .where('owner_key' as never, 'is not', null)
      .where('ready_at' as never, 'is not', null)
      .where('ended_at' as never, 'is', null)
      .execute();
    await index('runs_restarting', ['owner_key', 'round'])
      .where(...isWaiting)
      .where('attempt' as never, '>', sql.lit(1))
      .execute();
  },

  // Processes that continue a run continue its trace.
  '0009_traces': async ({ schema }) => {
    await schema.alterTable('runs').addColumn('trace', 'text').execute();
  },

  // Processes share the limit of an owner's files in transit.
  '0010_uploads': async ({ schema }) => {
    await schema
      .createTable('uploads')
      .addColumn('owner_key', 'text', (column) => column.notNull())
      .addColumn('process', 'text', (column) =>
        column.notNull().references('processes.id').onDelete('cascade'),
      )
      .addColumn('bytes', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('uploads_primary', ['owner_key', 'process'])
      .execute();
    await schema.createIndex('uploads_process').on('uploads').column('process').execute();
  },

  // Owners list their runs and sessions.
  '0011_lists': addLists,

  /** Callers download files. A run knows the path that its caller used. */
  '0012_files': addFiles,
};

/** Gives the runs that wait since an earlier version to rounds, as if they had become ready under this one. */
async function giveRounds(db: Kysely<Pick<Tables, 'runs'>>): Promise<void> {
  const unfinished = await db
    .selectFrom('runs')
    .select(['id', 'owner', 'module', 'status', 'ready_at'])
    .where('ended_at', 'is', null)
    .where('owner', 'is not', null)
    .orderBy('ready_at')
    .orderBy('created_at')
    .execute();
  const rounds = new Map<string, number>();
  for (const { id, owner, module, status, ready_at } of unfinished) {
    const key = ownerKeyOf(JSON.parse(owner!) as string, module);
    const round = rounds.get(key) ?? 0;
    const isReady = status === 'waiting' && ready_at !== null;
    if (isReady) rounds.set(key, round + 1);
    await db
      .updateTable('runs')
      .set({ owner_key: key, round: isReady ? round : 0 })
      .where('id', '=', id)
      .execute();
  }
}

const MIGRATION_TABLE = 'migrations';

/**
 * Brings the tables to the newest version. If several processes do this at the same time, one applies the migrations and
 * the others wait for it.
 *
 * @param kysely the database
 * @param schema the Postgres schema for all tables, created if it is missing; undefined for SQLite, which has none
 * @throws Error if a newer version of this package has written the database, or a migration fails
 */
export async function migrate(kysely: Kysely<never>, schema: string | undefined): Promise<void> {
  await refuseNewer(kysely, schema);
  const migrations = Object.entries(MIGRATIONS).map(([name, up]): [string, Migration] => [
    name,
    { up: (db) => up(schema === undefined ? db : db.withSchema(schema)) },
  ]);
  const migrator = new Migrator({
    db: kysely,
    provider: { getMigrations: async () => Object.fromEntries(migrations) },
    migrationTableName: MIGRATION_TABLE,
    migrationLockTableName: 'migration_lock',
    ...(schema !== undefined && { migrationTableSchema: schema }),
  });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error as Error;
}

async function refuseNewer(kysely: Kysely<never>, schema: string | undefined): Promise<void> {
  const tables = await kysely.introspection.getTables({ withInternalKyselyTables: true });
  if (!tables.some((table) => table.name === MIGRATION_TABLE && (!schema || table.schema === schema))) return;
  const db = (schema === undefined ? kysely : kysely.withSchema(schema)) as unknown as Kysely<{
    migrations: { name: string };
  }>;
  const applied = await db.selectFrom(MIGRATION_TABLE).select('name').execute();
  const unknown = applied.map(({ name }) => name).filter((name) => !(name in MIGRATIONS));
  if (unknown.length === 0) return;
  throw new Error(
    `it was written by a newer version of this software (it has ${unknown.join(', ')}). ` +
      'Run that version, or use another database.',
  );
}
