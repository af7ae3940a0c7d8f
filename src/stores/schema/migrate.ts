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
  const applied = await appliedMigrations(kysely, schema);
  refuseUnknown(applied);
  const names = Object.keys(MIGRATIONS);
  // The migrator would read every column of every table of the database, also of those that belong to others.
  if (applied.length === names.length) return;
  const migrations = names.map((name): [string, Migration] => [
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

/** The names of the migrations that the database has. */
async function appliedMigrations(kysely: Kysely<never>, schema: string | undefined): Promise<string[]> {
  const found =
    schema === undefined
      ? sql`select name from sqlite_master where type = 'table' and name = ${MIGRATION_TABLE}`
      : sql`select tablename from pg_tables where schemaname = ${schema} and tablename = ${MIGRATION_TABLE}`;
  if ((await found.execute(kysely)).rows.length === 0) return [];
  const table = sql.id(...(schema === undefined ? [] : [schema]), MIGRATION_TABLE);
  const { rows } = await sql<{ name: string }>`select name from ${table}`.execute(kysely);
  return rows.map(({ name }) => name);
}

function refuseUnknown(applied: string[]): void {
  const unknown = applied.filter((name) => !Object.hasOwn(MIGRATIONS, name));
  if (unknown.length === 0) return;
  throw new OtherVersion(
    `it was written by another version of this software (it has ${unknown.join(', ')}). ` +
      'Run that version, or use another database.',
  );
}
