import { bytesOf, headOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import { code } from '../markdown.js';
import { UnreadableFile } from '../unreadable-file.js';
import { rowsSource } from './rows-source.js';
import type { TextRows } from './rows-source.js';
import type { TableSource } from './table-source.js';
import type { Workspace } from './workspace.js';

/** Tables of a database that are read, at most. */
const MAX_TABLES = 100;
/** Rows between two looks at the time. */
const ROWS_PER_CHECK = 1000;

/** Whether a table is one of a format, such as GeoPackage or SpatiaLite, and not of a user. */
const OF_FORMAT = String.raw`(name like 'gpkg\_%' escape '\' or name like 'rtree\_%' escape '\' or name like 'idx\_%' escape '\'
  or name in ('spatial_ref_sys', 'geometry_columns', 'spatialite_history', 'views_geometry_columns'))`;
/** The first byte of the header that tells the mode (https://www.sqlite.org/fileformat.html, 1.3.3), and its value in WAL mode. */
const MODE_AT = 18;
const WAL = 2;
const WITHOUT_WAL =
  'The database is in WAL mode: what was written last may be in the file with `-wal` beside it, which is not here.';

/** The tables of a SQLite database: those of a user first. */
export async function databaseTables(file: FileSource, workspace: Workspace): Promise<TableSource[]> {
  const path = await workspace.write(bytesOf(file));
  const notes = (await headOf(file))[MODE_AT] === WAL ? [WITHOUT_WAL] : [];
  const database = await open(path);
  try {
    const names = database
      .prepare(
        `select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by ${OF_FORMAT}, rowid`,
      )
      .pluck()
      .all() as string[];
    return names.slice(0, MAX_TABLES).map((name) => {
      const { columns, fault } = columnsOf(database, name);
      const rows = (found: string[]) => {
        found.push(...notes);
        return rowsOf(path, name, file);
      };
      const source = rowsSource(name, rows, columns);
      return fault === undefined ? source : { ...source, fault };
    });
  } catch (error) {
    throw explain(error);
  } finally {
    database.close();
  }
}

/** A table may be one of a module or a function that is not here. SQLite says so now, or with the first row. */
function columnsOf(database: Database, table: string): { columns: string[]; fault?: string } {
  try {
    const all = selectAll(database, table);
    all.get();
    return { columns: all.columns().map(({ name }) => name) };
  } catch (error) {
    // Other codes say that the file is broken.
    if ((error as { code?: unknown }).code !== 'SQLITE_ERROR') throw error;
    return { columns: [], fault: `cannot be read: ${code((error as Error).message)}` };
  }
}

async function* rowsOf(path: string, table: string, file: FileSource): TextRows {
  const database = await open(path);
  try {
    let count = 0;
    for (const row of selectAll(database, table).safeIntegers().raw().iterate() as Iterable<SqliteValue[]>) {
      count += 1;
      if (count % ROWS_PER_CHECK === 0) file.checkTime();
      yield row.map(textOf);
    }
  } catch (error) {
    throw explain(error);
  } finally {
    database.close();
  }
}

async function open(path: string): Promise<Database> {
  const { default: Database } = await import('libsql');
  return new Database(path, { readonly: true });
}

function selectAll(database: Database, table: string): import('libsql').Statement {
  return database.prepare(`select * from "${table.replaceAll('"', '""')}"`);
}

function explain(error: unknown): unknown {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_')
    ? new UnreadableFile('This SQLite database is broken, cut off or encrypted.')
    : error;
}

type Database = import('libsql').Database;
type SqliteValue = string | number | bigint | Uint8Array | ArrayBuffer | null;

function textOf(value: SqliteValue): string | null {
  if (value === null) return null;
  if (value instanceof Uint8Array || value instanceof ArrayBuffer) return `(${value.byteLength} bytes)`;
  // It is a double: its digits say that it is no identifier.
  if (typeof value === 'number' && Math.abs(value) >= 1e15) return value.toExponential();
  return String(value);
}
