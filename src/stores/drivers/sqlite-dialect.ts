import {
  type DatabaseConnection,
  type Dialect,
  type Driver as KyselyDriver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { Answer } from './sqlite-thread.js';

export type Execute = (text: string, parameters: readonly unknown[]) => Promise<Answer>;

/** Kysely's dialect of SQLite. All users share one connection, so that its own transactions are for a single user. */
export function sqliteDialect(execute: Execute): Dialect {
  return {
    createAdapter: () => new TransactionalSqliteAdapter(),
    createDriver: () => new SharedConnectionDriver(execute),
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

class SharedConnectionDriver implements KyselyDriver {
  readonly #connection: DatabaseConnection;

  constructor(private readonly execute: Execute) {
    this.#connection = {
      executeQuery: async <R>({
        sql,
        parameters,
      }: {
        sql: string;
        parameters: readonly unknown[];
      }): Promise<QueryResult<R>> => {
        const { rows, changes } = await execute(sql, parameters);
        return { rows: (rows ?? []) as R[], numAffectedRows: BigInt(changes ?? 0) };
      },
      streamQuery: () => {
        throw new Error('This dialect does not stream rows.');
      },
    };
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }

  async releaseConnection(): Promise<void> {}

  async beginTransaction(): Promise<void> {
    await this.execute('begin immediate', []);
  }

  async commitTransaction(): Promise<void> {
    await this.execute('commit', []);
  }

  async rollbackTransaction(): Promise<void> {
    await this.execute('rollback', []);
  }

  async destroy(): Promise<void> {}
}
