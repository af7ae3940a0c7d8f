import type { Db } from '../schema/tables.js';

/** What differs between the databases. */
export interface Backend {
  /** For reads, and for writes of which each stands for itself. */
  readonly db: Db;
  /** Whether other processes may use the database at the same time. */
  readonly isShared: boolean;

  /**
   * Does some work in a transaction. Either all of it is kept once this resolves, or nothing; `work` may be called again
   * where the database asks for that.
   */
  transact<T>(work: (db: Db) => Promise<T>): Promise<T>;

  /** As `transact`, for work that is one statement: it needs no transaction of its own. */
  write<T>(work: (db: Db) => Promise<T>): Promise<T>;

  /** The directory for the contents of files; undefined where they belong into the database. */
  readonly contents: string | undefined;

  /** Within a transaction: has others who lock the same name wait for its end. */
  lock(db: Db, name: string): Promise<void>;

  /** If the error says that the database cannot be used at present, the reason for the operator; otherwise undefined. */
  outageOf(error: unknown): string | undefined;

  /** What an operator is told the database is: a file, or a host and a database, without a password. */
  readonly name: string;

  /** Ends every connection. A file is left without a write-ahead log. */
  close(): Promise<void>;
}
