import type { Compilable, CompiledQuery, QueryResult } from 'kysely';
import type { Db } from '../schema/tables.js';

/** Where a value of a statement goes. */
class Place {
  constructor(readonly name: PropertyKey) {}
}

/**
 * A statement that is compiled once for each database, and executed with other values each time. To build and compile a
 * statement with Kysely takes longer than SQLite needs to execute it.
 */
export class Prepared<Values extends object> {
  /** By the adapter of the database, which its transactions share. */
  readonly #compiled = new WeakMap<object, CompiledQuery>();

  /** @param build builds the statement; `value` stands for the value with this name */
  constructor(
    private readonly build: (
      db: Db,
      value: <Name extends keyof Values>(name: Name) => Values[Name],
    ) => Compilable,
  ) {}

  /** Passes the statement to the database in the tick in which it is called. */
  execute(db: Db, values: Values): Promise<QueryResult<unknown>> {
    const { adapter } = db.getExecutor();
    let compiled = this.#compiled.get(adapter);
    if (!compiled) {
      compiled = this.build(db, (name) => new Place(name) as never).compile();
      this.#compiled.set(adapter, compiled);
    }
    const parameters = compiled.parameters.map((parameter) =>
      parameter instanceof Place ? values[parameter.name as keyof Values] : parameter,
    );
    return db.executeQuery({ ...compiled, parameters });
  }
}
