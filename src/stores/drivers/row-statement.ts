import { type AliasedRawBuilder, type Compilable, type CompiledQuery, type RawBuilder, sql } from 'kysely';
import type { Db } from '../schema/tables.js';
import type { Driver } from './driver.js';

/** Names the columns of rows, with their types in Postgres. */
export type ColumnTypes<Row> = { [Name in keyof Row]-?: 'text' | 'bigint' };

const MAX_ROWS = 128;

/** Stands before each text of a column. Neither it nor the other occurs in texts of the tables, which are JSON, ids and digests. */
const SEPARATOR = '\x1e';
const NULL = '\x1f';

/** Where a value of a row goes in a compiled statement. */
class Place {
  constructor(
    readonly row: number,
    readonly column: PropertyKey,
  ) {}
}

/**
 * A statement that does something with rows. To build and compile a statement with Kysely takes longer than SQLite needs to
 * execute it: for SQLite it is compiled once for each power of two, and so for every number of rows.
 */
export class RowStatement<Row extends object> {
  /** The statements for SQLite, by the number of rows. */
  readonly #compiled = new Map<number, CompiledQuery>();

  /** @param build builds the statement; `rows` is a table expression with the columns in the order of `types` */
  constructor(
    private readonly types: ColumnTypes<Row>,
    private readonly build: (db: Db, rows: RawBuilder<Row>) => Compilable,
  ) {}

  /** Passes the statements for some rows to the database in the tick in which it is called. Returns the rows that they return. */
  async execute<Returned>(db: Db, { isShared }: Driver, rows: Row[]): Promise<Returned[]> {
    const statements = isShared ? [this.#withArrays(db, rows)] : this.#withValues(db, rows);
    const results = await Promise.all(statements.map((statement) => db.executeQuery<Returned>(statement)));
    return results.flatMap((result) => result.rows);
  }

  #withArrays(db: Db, rows: Row[]): CompiledQuery {
    const columns = columnsOf(this.types).map((column) => sql.ref(column));
    const table = tableOf('row', this.types, rows);
    return this.build(db, sql<Row>`select ${sql.join(columns)} from ${table}`).compile();
  }

  #withValues(db: Db, rows: Row[]): CompiledQuery[] {
    const statements: CompiledQuery[] = [];
    for (let at = 0; at < rows.length;) {
      const count = Math.min(2 ** Math.floor(Math.log2(rows.length - at)), MAX_ROWS);
      const compiled = this.#compiled.get(count) ?? this.#compile(db, count);
      const parameters = compiled.parameters.map((parameter) =>
        parameter instanceof Place ? rows[at + parameter.row]![parameter.column as keyof Row] : parameter,
      );
      statements.push({ ...compiled, parameters });
      at += count;
    }
    return statements;
  }

  #compile(db: Db, count: number): CompiledQuery {
    const columns = columnsOf(this.types);
    const rows = Array.from({ length: count }, (_, row) => {
      const places = columns.map((column) => sql.val(new Place(row, column)));
      return sql`(${sql.join(places)})`;
    });
    const compiled = this.build(db, sql<Row>`values ${sql.join(rows)}`).compile();
    this.#compiled.set(count, compiled);
    return compiled;
  }
}

function columnsOf<Row extends object>(types: ColumnTypes<Row>) {
  return Object.keys(types) as (keyof Row & string)[];
}

/**
 * Makes rows a table of a statement for Postgres: an array for each column, so that the text of the statement does not depend
 * on how many rows there are.
 */
export function tableOf<Row extends object, Name extends string>(
  name: Name,
  types: ColumnTypes<Row>,
  rows: Row[],
): AliasedRawBuilder<Row, Name> {
  const columns = columnsOf(types);
  const arrays = columns.map((column) => {
    const values = rows.map((row) => row[column]);
    return types[column] === 'text' ? textArray(values as (string | null)[]) : sql`${values}::bigint[]`;
  });
  const names = sql.join(columns.map((column) => sql.ref(column)));
  return sql<Row>`unnest(${sql.join(arrays)})`.as<Name>(sql`${sql.ref(name)}(${names})`);
}

/** An array of texts, without the escapes of array literals: for long texts they cost more than all the rest. */
function textArray(texts: (string | null)[]): RawBuilder<unknown> {
  const joined = texts.map((text) => SEPARATOR + (text ?? NULL)).join('');
  // What stands before the first separator is no text.
  return sql`(string_to_array(${joined}, ${SEPARATOR}, ${NULL}))[2:]`;
}
