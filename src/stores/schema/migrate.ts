import { type Kysely, type Migration, Migrator, sql } from 'kysely';
import { MIGRATIONS } from './migrations.js';

const MIGRATION_TABLE = 'migrations';

/** Another version of this package has written the database. */
export class OtherVersion extends Error {}

/**
 * Creates the tables, or brings them to the newest version. If several processes do this at the same time, one applies the
 * migrations and the others wait for it.
 *
 * @param schema the Postgres schema for all tables, created if it is missing; undefined for SQLite, which has none
 * @throws {OtherVersion}
 * @throws Error if a migration fails
 */
export async function migrate(kysely: Kysely<never>, schema: string | undefined): Promise<void> {
  await refuseUnknown(kysely, schema);
  const migrations = Object.keys(MIGRATIONS).map((name): [string, Migration] => [
    name,
    { up: (db) => apply(db, schema, name) },
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

async function apply(db: Kysely<unknown>, schema: string | undefined, name: string): Promise<void> {
  const { sqlite, postgres } = MIGRATIONS[name]!;
  if (schema === undefined) {
    for (const statement of sqlite) await sql.raw(statement).execute(db);
  } else {
    // The transaction ends the setting.
    await sql`set local search_path to ${sql.id(schema)}`.execute(db);
    if (postgres.length > 0) await sql.raw(postgres.join(';\n')).execute(db);
  }
}

async function refuseUnknown(kysely: Kysely<never>, schema: string | undefined): Promise<void> {
  const tables = await kysely.introspection.getTables({ withInternalKyselyTables: true });
  if (!tables.some((table) => table.name === MIGRATION_TABLE && (!schema || table.schema === schema))) return;
  const table = sql.id(...(schema === undefined ? [] : [schema]), MIGRATION_TABLE);
  const { rows } = await sql<{ name: string }>`select name from ${table}`.execute(kysely);
  const unknown = rows.map(({ name }) => name).filter((name) => !Object.hasOwn(MIGRATIONS, name));
  if (unknown.length === 0) return;
  throw new OtherVersion(
    `it was written by another version of this software (it has ${unknown.join(', ')}). ` +
      'Run that version, or use another database.',
  );
}
