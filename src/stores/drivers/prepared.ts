import { type Compilable, type CompiledQuery, type RawBuilder, sql } from 'kysely';
import type { Db } from '../schema/tables.js';

/** The most rows of one statement. */
const MAX_ROWS = 128;

/** Where a value of a row goes in a compiled statement. */
class Place {
  constructor(
    readonly row: number,
    readonly column: PropertyKey,
  ) {}
}

/**
 * A statement for SQLite that does something with rows. It is compiled once for each power of two, and so for every number of
 * rows: to build and compile a statement with Kysely takes longer than SQLite needs to execute it.
 */
export class Prepared<Row extends object> {
  /** By the number of rows, for each database. Its transactions have the same adapter. */
  readonly #compiled = new WeakMap<object, Map<number, CompiledQuery>>();

  /**
   * @param columns of the rows, in the order in which `values` has them
   * @param build builds the statement; `values` is `values (…), (…)`
   */
  constructor(
    private readonly columns: readonly (keyof Row & string)[],
    private readonly build: (db: Db, values: RawBuilder<Row>) => Compilable,
  ) {}

  /**
   * Passes the statements for some rows to the database in the tick in which it is called.
   *
   * @returns the rows that they return
   */
  async execute<Returned>(db: Db, rows: Row[]): Promise<Returned[]> {
    const results: Promise<{ rows: unknown[] }>[] = [];
    for (let at = 0; at < rows.length;) {
      const count = Math.min(2 ** Math.floor(Math.log2(rows.length - at)), MAX_ROWS);
      const compiled = this.#compiledFor(db, count);
      const parameters = compiled.parameters.map((parameter) =>
        parameter instanceof Place ? rows[at + parameter.row]![parameter.column as keyof Row] : parameter,
      );
      results.push(db.executeQuery({ ...compiled, parameters }));
      at += count;
    }
    return (await Promise.all(results)).flatMap((result) => result.rows as Returned[]);
  }

  #compiledFor(db: Db, count: number): CompiledQuery {
    const { adapter } = db.getExecutor();
    const compiled = this.#compiled.get(adapter) ?? new Map<number, CompiledQuery>();
    this.#compiled.set(adapter, compiled);
    let one = compiled.get(count);
    if (!one) {
      const rows = Array.from(
        { length: count },
        (_, row) => sql`(${sql.join(this.columns.map((column) => sql.val(new Place(row, column))))})`,
      );
      one = this.build(db, sql<Row>`values ${sql.join(rows)}`).compile();
      compiled.set(count, one);
    }
    return one;
  }
}
