import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver as KyselyDriver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { SqliteThread } from './sqlite-thread.js';

/** Kysely's dialect of SQLite, with a thread that executes the statements. */
export function sqliteDialect(thread: SqliteThread): Dialect {
  return {
    createAdapter: () => new TransactionalSqliteAdapter(),
    createDriver: () => new SqliteThreadDriver(thread),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

class TransactionalSqliteAdapter extends SqliteAdapter {
  /** SQLite supports it. Kysely's own adapter says no, because of other bindings. */
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/** Gives the one connection of the thread to one user after another. */
class SqliteThreadDriver implements KyselyDriver {
  readonly #connection: DatabaseConnection;
  #released: Promise<void> = Promise.resolve();
  #release: () => void = () => undefined;

  constructor(private readonly thread: SqliteThread) {
    this.#connection = {
      executeQuery: async <R>({ sql: text, parameters }: CompiledQuery): Promise<QueryResult<R>> => {
        const { rows, changes } = await thread.execute(text, parameters);
        return { rows: (rows ?? []) as R[], numAffectedRows: BigInt(changes ?? 0) };
      },
      streamQuery: () => {
        throw new Error('This dialect does not stream rows.');
      },
    };
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    const previous = this.#released;
    let release!: () => void;
    this.#released = new Promise((resolve) => (release = resolve));
    await previous;
    this.#release = release;
    return this.#connection;
  }

  async releaseConnection(): Promise<void> {
    this.#release();
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'));
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('commit'));
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('rollback'));
  }

  async destroy(): Promise<void> {
    await this.thread.end();
  }
}
