import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely';
import type { Backend } from './driver.js';
import { Group } from './group-commit.js';
import { migrate } from '../schema/migrations.js';
import type { Db, Tables } from '../schema/tables.js';

/** What the operator is told of an error that more than this statement will meet, by the beginning of SQLite's code for it. */
const OUTAGES: [code: string, reason: string][] = [
  ['SQLITE_FULL', 'the disk is full'],
  ['SQLITE_IOERR', 'the disk failed'],
  ['SQLITE_READONLY', 'the file, or its directory, cannot be written'],
  ['SQLITE_CANTOPEN', 'the file cannot be opened'],
  ['SQLITE_BUSY', 'the file is locked by another process'],
];

/** A SQLite file that this process has for itself. */
export class LibsqlBackend implements Backend {
  readonly isShared = false;
  readonly contents: string;
  readonly #group: Group;

  private constructor(
    readonly name: string,
    readonly db: Db,
  ) {
    this.contents = `${name}.files`;
    this.#group = new Group(db);
  }

  /**
   * Opens a file, and makes it if it is missing, with the directories that lead to it.
   *
   * @throws Error with a sentence that says which file and what to do: it is in use by another process, is no database,
   * was written by a newer version, or cannot be written
   */
  static async open(path: string): Promise<LibsqlBackend> {
    let thread: DatabaseThread | undefined;
    try {
      await mkdir(dirname(path), { recursive: true });
      // libsql would not say what is wrong.
      await (await open(path, 'a')).close();
      thread = await DatabaseThread.start(path);
      const db = new Kysely<Tables>({ dialect: dialectOf(thread) });
      // The first access takes the lock, which is held until the end of the process.
      await sql`pragma locking_mode = exclusive`.execute(db);
      await sql`pragma journal_mode = wal`.execute(db);
      await sql`pragma synchronous = full`.execute(db);
      await sql`pragma wal_autocheckpoint = 4000`.execute(db);
      await migrate(db as Kysely<never>, undefined);
      return new LibsqlBackend(path, db);
    } catch (error) {
      await thread?.end();
      throw new Error(`The database ${path} cannot be opened: ${reasonOf(error)}`, { cause: error });
    }
  }

  transact<T>(work: (db: Db) => Promise<T>): Promise<T> {
    return this.#group.commit(work);
  }

  write<T>(work: (db: Db) => Promise<T>): Promise<T> {
    return this.#group.commit(work, true);
  }

  /** Steps stand in one line anyway. */
  async lock(): Promise<void> {}

  outageOf(error: unknown): string | undefined {
    const code = codeOf(error);
    return OUTAGES.find(([prefix]) => code.startsWith(prefix))?.[1];
  }

  async close(): Promise<void> {
    try {
      await sql`pragma wal_checkpoint(truncate)`.execute(this.db);
    } finally {
      await this.db.destroy();
    }
  }
}

function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

function reasonOf(error: unknown): string {
  const code = codeOf(error);
  if (code.startsWith('SQLITE_BUSY')) {
    return 'another process is using it. A file belongs to one process: end that one, name another file, or use Postgres.';
  }
  if (code === 'SQLITE_NOTADB') {
    return 'the file is not a database, or is encrypted. It was left as it is; move it away, or name another file.';
  }
  if (code.startsWith('SQLITE_CORRUPT')) {
    return 'the file is damaged. It was left as it is; restore a copy of it, or name another file.';
  }
  if (/^(EACCES|EPERM|EROFS|SQLITE_READONLY|SQLITE_CANTOPEN)/.test(code)) {
    return 'this user may not write there. Give the directory to the user of the service, or name another file.';
  }
  if (code === 'EISDIR') return 'it is a directory. Name a file in it.';
  if (/^(ENOSPC|SQLITE_FULL)/.test(code)) return 'the disk is full. Make room, and start again.';
  return error instanceof Error ? error.message : String(error);
}

interface Answer {
  rows?: unknown[];
  changes?: number;
}

type Reply = [id: number, answer: Answer | undefined, error: { message: string; code: string } | undefined];

/** The thread that has the database. */
class DatabaseThread {
  readonly #pending = new Map<
    number,
    { resolve: (answer: Answer) => void; reject: (error: unknown) => void }
  >();
  #last = 0;
  #failure: Error | undefined;

  private constructor(private readonly worker: Worker) {
    worker.on('message', ([id, answer, error]: Reply) => {
      const asked = this.#pending.get(id);
      this.#pending.delete(id);
      if (this.#pending.size === 0) worker.unref();
      if (error) asked?.reject(Object.assign(new Error(error.message), { code: error.code }));
      else asked?.resolve(answer!);
    });
    worker.on('error', (error) => this.#fail(error));
    worker.on('exit', () => this.#fail(new Error('The database was closed.')));
  }

  /** @throws the error of SQLite, if it cannot open the file */
  static async start(path: string): Promise<DatabaseThread> {
    const thread = new DatabaseThread(
      new Worker(new URL('./sqlite-worker.js', import.meta.url), { workerData: path }),
    );
    await thread.ask('select 1', []);
    return thread;
  }

  ask(text: string, parameters: readonly unknown[]): Promise<Answer> {
    if (this.#failure) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#pending.set(++this.#last, { resolve, reject });
      // A process ends when nothing is asked any more, closed or not.
      this.worker.ref();
      this.worker.postMessage([this.#last, text, parameters]);
    });
  }

  async end(): Promise<void> {
    await this.worker.terminate();
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    for (const { reject } of this.#pending.values()) reject(this.#failure);
    this.#pending.clear();
  }
}

function dialectOf(thread: DatabaseThread): Dialect {
  return {
    createAdapter: () => new TransactionalSqliteAdapter(),
    createDriver: () => new ThreadDriver(thread),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

class TransactionalSqliteAdapter extends SqliteAdapter {
  /** SQLite can; Kysely's adapter says no for the sake of other bindings. */
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/** Kysely's way to the thread: one connection, which its users have in turn. */
class ThreadDriver implements Driver {
  readonly #connection: DatabaseConnection;
  #released: Promise<void> = Promise.resolve();
  #release: () => void = () => undefined;

  constructor(private readonly thread: DatabaseThread) {
    this.#connection = {
      executeQuery: async <R>({ sql: text, parameters }: CompiledQuery): Promise<QueryResult<R>> => {
        const { rows, changes } = await thread.ask(text, parameters);
        return { rows: (rows ?? []) as R[], numAffectedRows: BigInt(changes ?? 0) };
      },
      streamQuery: () => {
        throw new Error('Rows are not streamed.');
      },
    };
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    const before = this.#released;
    let release!: () => void;
    this.#released = new Promise((resolve) => (release = resolve));
    await before;
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
