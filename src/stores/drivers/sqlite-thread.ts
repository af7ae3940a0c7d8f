import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import {
  type Compilable,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  DummyDriver,
  Kysely,
  type QueryResult,
  type SelectModifierNode,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { CODE_FOLDER } from '../../query/index.js';
import type { Tables } from '../schema/tables.js';

/** What a statement returned: rows, or how many rows it changed. */
export interface Answer {
  rows?: unknown[];
  changes?: number;
}

/** Executes a statement. */
export type Execute = (text: string, parameters: readonly unknown[]) => Promise<Answer>;

type Reply = [answer: Answer | undefined, error?: { message: string; code: string }];

interface PendingStatement {
  text: string;
  parameters: readonly unknown[];
  resolve: (answer: Answer) => void;
  reject: (error: unknown) => void;
}

/**
 * The thread that executes the statements (`sqlite-worker.js`), as the main thread sees it. Statements of the same tick travel
 * in one message: to wake a thread costs more than most statements do.
 */
export class SqliteThread {
  #next: PendingStatement[] = [];
  /** The messages that have no answer yet. */
  readonly #sent: PendingStatement[][] = [];
  #failure: Error | undefined;

  private constructor(private readonly worker: Worker) {
    worker.on('message', (replies: Reply[]) => {
      const statements = this.#sent.shift()!;
      if (this.#sent.length === 0) worker.unref();
      for (const [index, [answer, error]] of replies.entries()) {
        const { resolve, reject } = statements[index]!;
        if (error) reject(Object.assign(new Error(error.message), { code: error.code }));
        else resolve(answer!);
      }
    });
    worker.on('error', (error) => this.#fail(error));
    worker.on('exit', () => this.#fail(new Error('The database was closed.')));
  }

  /**
   * Starts a thread that opens a file.
   *
   * @throws the error of SQLite, if it cannot open the file
   */
  static async start(path: string): Promise<SqliteThread> {
    const thread = new SqliteThread(
      new Worker(join(CODE_FOLDER, 'stores/drivers/sqlite-worker.js'), { workerData: path }),
    );
    await thread.execute('select 1', []);
    return thread;
  }

  /**
   * Executes one statement, after those that were passed before.
   *
   * @throws the error of SQLite, with its `code` (`SQLITE_…`); an Error if the thread has ended
   */
  readonly execute: Execute = (text, parameters) =>
    new Promise((resolve, reject) => {
      // Node calls this when no microtask is left: what waits for promises of this tick has been passed by then.
      if (this.#next.length === 0) process.nextTick(() => this.#send());
      this.#next.push({ text, parameters, resolve, reject });
    });

  async end(): Promise<void> {
    await this.worker.terminate();
  }

  #send(): void {
    const statements = this.#next;
    this.#next = [];
    if (this.#failure) return rejectAll(statements, this.#failure);
    // The thread keeps the process running only while a statement is pending, so that an open store does not prevent the
    // process from ending.
    this.worker.ref();
    this.#sent.push(statements);
    this.worker.postMessage(statements.map(({ text, parameters }) => [text, parameters]));
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    for (const statements of this.#sent.splice(0)) rejectAll(statements, this.#failure);
  }
}

function rejectAll(statements: PendingStatement[], error: Error): void {
  for (const { reject } of statements) reject(error);
}

/** A SQLite file. All users share one connection, so that Kysely's own transactions are for a single user. */
export class SqliteDb extends Kysely<Tables> {
  readonly #connection: SharedConnection;

  constructor(execute: Execute) {
    const connection = new SharedConnection(execute);
    super({ dialect: sqliteDialect(connection) });
    this.#connection = connection;
  }

  /** Passes a compiled statement on. Kysely would take a dozen steps to get the connection and to give it back. */
  override executeQuery<R>(query: CompiledQuery<R> | Compilable<R>): Promise<QueryResult<R>> {
    return this.#connection.executeQuery('compile' in query ? query.compile() : query);
  }
}

function sqliteDialect(connection: SharedConnection): Dialect {
  return {
    createAdapter: () => new TransactionalSqliteAdapter(),
    createDriver: () => connection,
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new UnlockedQueryCompiler(),
  };
}

class UnlockedQueryCompiler extends SqliteQueryCompiler {
  /** Leaves out the locks of rows, such as `for update`, which SQLite does not know: no other transaction is open. */
  protected override sortSelectModifiers(): SelectModifierNode[] {
    return [];
  }
}

class TransactionalSqliteAdapter extends SqliteAdapter {
  /** SQLite supports it. Kysely's own adapter says no, because of other bindings. */
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/** The driver, and the connection that it gives to everyone. */
class SharedConnection extends DummyDriver implements DatabaseConnection {
  constructor(private readonly execute: Execute) {
    super();
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    return this;
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const { rows, changes } = await this.execute(sql, parameters);
    return { rows: (rows ?? []) as R[], numAffectedRows: BigInt(changes ?? 0) };
  }

  streamQuery(): never {
    throw new Error('This dialect does not stream rows.');
  }

  override async beginTransaction(): Promise<void> {
    await this.execute('begin immediate', []);
  }

  override async commitTransaction(): Promise<void> {
    await this.execute('commit', []);
  }

  override async rollbackTransaction(): Promise<void> {
    await this.execute('rollback', []);
  }
}
