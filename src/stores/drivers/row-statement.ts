import { type AliasedRawBuilder, type Compilable, type CompiledQuery, type RawBuilder, sql } from 'kysely';
import type { Db } from '../schema/tables.js';
import type { Driver } from './driver.js';

/** Names the columns of rows, with their types in Postgres. */
export type ColumnTypes<Row> = { [Name in keyof Row]-?: 'text' | 'bigint' };

const MAX_ROWS = 128;

/** Stands before each text of a column. Neither it nor the other occurs in texts of the tables, which are JSON, ids and digests. */
const SEPARATOR = '\x1e';
const NULL = '\x1f';

/** Where a parameter goes in a compiled statement. */
class Place<Values> {
  /** @param valueOf returns the parameter */
  constructor(readonly valueOf: (values: Values) => unknown) {}
}

/** Puts a parameter into a statement that is compiled once. */
export type PlaceOf<Values> = <T>(valueOf: (values: Values) => T) => RawBuilder<T>;

/**
 * A statement that is compiled once for each database: to build and compile one with Kysely takes longer than to execute it. Its
 * text must not depend on the values.
 */
export class Statement<Values> {
  readonly #compiled = new WeakMap<Driver, CompiledQuery>();

  constructor(private readonly build: (db: Db, place: PlaceOf<Values>) => Compilable) {}

  /** Passes the statement to the database in the tick in which it is called. Returns the rows that it returns. */
  async execute<Returned>(db: Db, driver: Driver, values: Values): Promise<Returned[]> {
    let compiled = this.#compiled.get(driver);
    if (!compiled) {
      compiled = this.build(db, (valueOf) => sql`${sql.val(new Place(valueOf))}`).compile();
      this.#compiled.set(driver, compiled);
    }
    const parameters = compiled.parameters.map((parameter) =>
      parameter instanceof Place ? (parameter as Place<Values>).valueOf(values) : parameter,
    );
    return (await db.executeQuery<Returned>({ ...compiled, parameters })).rows;
  }
}

/** A statement that does something with rows. */
export class RowStatement<Row extends object> {
  /** For SQLite: statements for each power of two, and so for every number of rows. */
  readonly #ofCount = new Map<number, Statement<Row[]>>();
  /** For Postgres. */
  readonly #ofAll: Statement<Row[]>;

  /** @param build builds the statement; `rows` is a table expression with the columns in the order of `types` */
  constructor(
    private readonly types: ColumnTypes<Row>,
    private readonly build: (db: Db, rows: RawBuilder<Row>) => Compilable,
  ) {
    const columns = columnsOf(types).map((column) => sql.ref(column));
    this.#ofAll = new Statement((db, place) => {
      const table = tableOf('row', types, place, (rows) => rows);
      return build(db, sql<Row>`select ${sql.join(columns)} from ${table}`);
    });
  }

  /** Passes the statements for some rows to the database in the tick in which it is called. Returns the rows that they return. */
  async execute<Returned>(db: Db, driver: Driver, rows: Row[]): Promise<Returned[]> {
    if (driver.isShared) return this.#ofAll.execute(db, driver, rows);
    const results: Promise<Returned[]>[] = [];
    for (let at = 0; at < rows.length;) {
      const count = Math.min(2 ** Math.floor(Math.log2(rows.length - at)), MAX_ROWS);
      results.push(this.#of(count).execute(db, driver, rows.slice(at, at + count)));
      at += count;
    }
    return (await Promise.all(results)).flat();
  }

  #of(count: number): Statement<Row[]> {
    const found = this.#ofCount.get(count);
    if (found) return found;
    const columns = columnsOf(this.types);
    const statement = new Statement<Row[]>((db, place) => {
      const rows = Array.from({ length: count }, (_, row) => {
        const places = columns.map((column) => place((all) => all[row]![column]));
        return sql`(${sql.join(places)})`;
      });
      return this.build(db, sql<Row>`values ${sql.join(rows)}`);
    });
    this.#ofCount.set(count, statement);
    return statement;
  }
}

function columnsOf<Row extends object>(types: ColumnTypes<Row>) {
  return Object.keys(types) as (keyof Row & string)[];
}

/**
 * Makes rows a table of a statement for Postgres: an array for each column, so that the text of the statement does not depend
 * on how many rows there are.
 */
export function tableOf<Row extends object, Name extends string, Values>(
  name: Name,
  types: ColumnTypes<Row>,
  place: PlaceOf<Values>,
  rowsOf: (values: Values) => Row[],
): AliasedRawBuilder<Row, Name> {
  const columns = columnsOf(types);
  const arrays = columns.map((column) => {
    const valuesOf = (values: Values) => rowsOf(values).map((row) => row[column]);
    if (types[column] === 'bigint') return sql`${place(valuesOf)}::bigint[]`;
    return textArray(place((values) => joined(valuesOf(values) as (string | null)[])));
  });
  const names = sql.join(columns.map((column) => sql.ref(column)));
  return sql<Row>`unnest(${sql.join(arrays)})`.as<Name>(sql`${sql.ref(name)}(${names})`);
}

/** An array of texts, without the escapes of array literals: for long texts they cost more than all the rest. */
function textArray(joinedTexts: RawBuilder<string>): RawBuilder<unknown> {
  // What stands before the first separator is no text.
  return sql`(string_to_array(${joinedTexts}, ${SEPARATOR}, ${NULL}))[2:]`;
}

function joined(texts: (string | null)[]): string {
  return texts.map((text) => SEPARATOR + (text ?? NULL)).join('');
}
