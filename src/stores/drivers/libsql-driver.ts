import { chmod, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Kysely, sql } from 'kysely';
import { LocalSignals } from '../../query/index.js';
import { migrate } from '../schema/migrate.js';
import type { Db } from '../schema/tables.js';
import { codeOf, DISK_FULL, type Driver, isOwnError, type Work } from './driver.js';
import { GroupCommit } from './group-commit.js';
import { JournalFiles } from './journal-files.js';
import { SqliteDb, SqliteThread } from './sqlite-thread.js';

/** The codes of errors that are final: the statement or its data is wrong. */
const FINAL = /^SQLITE_(CONSTRAINT|ERROR|MISMATCH|MISUSE|RANGE|TOOBIG)/;

/** Errors that other statements will meet too, by the beginning of their code, and what the operator reads about each. */
const OUTAGES: [code: string, reason: string][] = [
  ['SQLITE_FULL', DISK_FULL],
  ['ENOSPC', DISK_FULL],
  ['EDQUOT', DISK_FULL],
  ['SQLITE_IOERR', 'the disk failed'],
  ['EIO', 'the disk failed'],
  ['SQLITE_READONLY', 'the file, or its directory, cannot be written'],
  ['SQLITE_CANTOPEN', 'the file cannot be opened'],
  ['SQLITE_BUSY', 'the file is locked by another process'],
  ['SQLITE_REPLACED', 'the file was deleted or replaced. Put it back, or start the service again'],
];

/** Why a file cannot be opened, by the code of the error, and what to do. */
const REFUSALS: [code: RegExp, reason: string][] = [
  [
    /^SQLITE_BUSY/,
    'another process is using it. A file belongs to one process: stop that process, use another file, use Postgres, or keep runs in memory only, with the URL memory: (for the service: DATABASE_URL=memory:).',
  ],
  [
    /^SQLITE_NOTADB$/,
    'the file is not a database, or it is encrypted. It was not changed; move it away, or use another file.',
  ],
  [/^SQLITE_CORRUPT/, 'the file is damaged. It was not changed; restore a copy of it, or use another file.'],
  [
    /^(EACCES|EPERM|EROFS|SQLITE_READONLY|SQLITE_CANTOPEN)/,
    'this user may not write there. Give the directory to the user of the service, or use another file.',
  ],
  [/^EISDIR$/, 'it is a directory. Name a file in it.'],
  [/^(ENOSPC|SQLITE_FULL)/, 'the disk is full. Free some space, and start again.'],
];

/** A SQLite file that belongs to this process alone. The contents of files are in the directory `<path>.files`. */
export class LibsqlDriver implements Driver {
  readonly isShared = false;
  readonly signals = new LocalSignals();
  readonly contentDirectory: string;
  readonly #groups: GroupCommit;
  readonly db: Db;

  /** @param direct passes its statements to the thread at once, also into an open transaction */
  private constructor(
    readonly name: string,
    private readonly thread: SqliteThread,
    readonly journal: JournalFiles,
    direct: Db,
  ) {
    this.contentDirectory = `${name}.files`;
    this.#groups = new GroupCommit(direct, thread.execute);
    this.db = new SqliteDb(this.#groups.executeAlone);
  }

  /**
   * Opens a file; see `openStore`.
   *
   * @throws Error with a sentence for the operator that names the file, the reason and what to do
   */
  static async open(path: string): Promise<LibsqlDriver> {
    let thread: SqliteThread | undefined;
    try {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      // The error of the file system says more than that of libsql.
      await (await open(path, 'a', 0o600)).close();
      // A file that was there before may be readable by every user. SQLite gives its other files the same mode.
      await chmod(path, 0o600);
      thread = await SqliteThread.start(path);
      const db: Db = new SqliteDb(thread.execute);
      // The first access takes the lock. It is held until the process ends.
      await sql`pragma locking_mode = exclusive`.execute(db);
      await sql`pragma journal_mode = wal`.execute(db);
      await sql`pragma synchronous = full`.execute(db);
      await sql`pragma wal_autocheckpoint = 1000`.execute(db);
      // What is deleted is overwritten with zeros.
      await sql`pragma secure_delete = on`.execute(db);
      await migrate(db as Kysely<never>, undefined);
      return new LibsqlDriver(path, thread, await JournalFiles.open(path), db);
    } catch (error) {
      await thread?.end();
      const refusal = REFUSALS.find(([code]) => code.test(codeOf(error)));
      const reason = refusal?.[1] ?? (error as Error).message;
      throw new Error(`The database ${path} cannot be opened: ${reason}`, { cause: error });
    }
  }

  transact<T>(work: Work<T>): Promise<T> {
    return this.#groups.commit(work);
  }

  transactAtOnce<T>(work: Work<T>): Promise<T> {
    return this.#groups.commit(work, true);
  }

  /** In a group: between its steps, nothing else is committed. */
  snapshot<T>(work: Work<T>): Promise<T> {
    return this.transact(work);
  }

  promptly<T>(_withinMs: number, work: Work<T>): Promise<T> {
    return work(this.db);
  }

  async now(): Promise<number> {
    return Date.now();
  }

  /** Does nothing: the steps of a group are executed one after another. */
  async lock(): Promise<void> {}

  outageOf(error: unknown): string | undefined {
    const code = codeOf(error);
    if (isOwnError(error) || FINAL.test(code)) return undefined;
    return OUTAGES.find(([prefix]) => code.startsWith(prefix))?.[1] ?? (error as Error).message;
  }

  /** Moves the write-ahead log into the file, and empties it. */
  async purge(): Promise<void> {
    await sql`pragma wal_checkpoint(truncate)`.execute(this.db);
  }

  /** Moves the write-ahead log into the file, so that the file is complete by itself, and ends the thread. */
  async close(): Promise<void> {
    try {
      await this.purge();
    } catch (error) {
      // The write-ahead log keeps what could not be moved. The next start reads it.
      if (this.outageOf(error) === undefined) throw error;
    } finally {
      await this.thread.end();
      await this.journal.close();
    }
  }
}
