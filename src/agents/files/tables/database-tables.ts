import { bytesOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import { UnreadableFile } from '../unreadable-file.js';
import { writeRows } from './delimited-text.js';
import type { TableSource } from './table-source.js';
import type { Workspace } from './workspace.js';

/** Tables of a database that are read, at most. */
const MAX_TABLES = 100;
/** Rows between two looks at the time. */
const ROWS_PER_CHECK = 1000;

/** The tables of a SQLite database. */
export async function databaseTables(file: FileSource, workspace: Workspace): Promise<TableSource[]> {
  const path = await workspace.write(bytesOf(file));
  const names = await withDatabase(path, (database) =>
    database
      .prepare(
        `select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by rowid`,
      )
      .pluck()
      .all()
      .slice(0, MAX_TABLES),
  );
  return (names as string[]).map((name) => ({
    sheet: name,
    write: (target) =>
      withDatabase(path, (database) => {
        const statement = database.prepare(`select * from "${name.replaceAll('"', '""')}"`);
        const columns = statement.columns().map((column) => column.name);
        return writeRows(target, rowsOf(statement.raw().iterate() as Iterable<SqliteValue[]>, file), columns);
      }),
  }));
}

async function withDatabase<T>(
  path: string,
  use: (database: import('libsql').Database) => T | Promise<T>,
): Promise<T> {
  const { default: Database } = await import('libsql');
  const database = new Database(path, { readonly: true });
  try {
    return await use(database);
  } catch (error) {
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_')) {
      throw new UnreadableFile('This SQLite database is broken, cut off or encrypted.');
    }
    throw error;
  } finally {
    database.close();
  }
}

async function* rowsOf(rows: Iterable<SqliteValue[]>, file: FileSource): AsyncGenerator<(string | null)[]> {
  let count = 0;
  for (const row of rows) {
    count += 1;
    if (count % ROWS_PER_CHECK === 0) file.checkTime();
    yield row.map(textOf);
  }
}

type SqliteValue = string | number | bigint | Uint8Array | ArrayBuffer | null;

function textOf(value: SqliteValue): string | null {
  if (value === null) return null;
  if (value instanceof Uint8Array || value instanceof ArrayBuffer) return `(${value.byteLength} bytes)`;
  return String(value);
}
