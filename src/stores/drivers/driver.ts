import { NoResultError } from 'kysely';
import { QueryError, type Signals } from '../../query/index.js';
import { OtherVersion } from '../schema/migrate.js';
import type { Db } from '../schema/tables.js';
import type { JournalFiles } from './journal-files.js';

/** The reason of `Driver.outageOf` for a disk without space. Small writes may still find some. */
export const DISK_FULL = 'the disk is full';

/** What is done with a database, or within a transaction. */
export type Work<T> = (db: Db) => Promise<T>;

/** What differs between the databases. A driver owns all connections to one database. */
export interface Driver {
  /** The database as the operator reads it: a path, or host, database and schema. It contains no password. */
  readonly name: string;

  /** Whether other processes may use the database at the same time. */
  readonly isShared: boolean;

  /** Carries signals between the processes that use the database. */
  readonly signals: Signals;

  /** The directory for the contents of files; undefined if they are kept in the database. */
  readonly contentDirectory: string | undefined;

  /** The files that have the newest envelopes of runs; undefined on a shared database. */
  readonly journal: JournalFiles | undefined;

  /** For reads, and for writes that are one statement each. */
  readonly db: Db;

  /**
   * Does some work in a transaction. When the promise resolves, all of it is committed; when it rejects, none of it,
   * unless the connection broke during the commit. The driver may call `work` again if the database asks for a retry.
   */
  transact<T>(work: Work<T>): Promise<T>;

  /**
   * Does the same as `transact`, for work that passes all its statements in the tick in which it is called, without waiting for
   * an answer. On a shared database this must be a single statement.
   */
  transactAtOnce<T>(work: Work<T>): Promise<T>;

  /** Does some work that only reads, and sees all of the database as it is at one time. It waits for no lock of a transaction. */
  snapshot<T>(work: Work<T>): Promise<T>;

  /**
   * Does some work that is one statement, on a connection of its own. If that does not answer within a time, the work is done once
   * more on a new connection. Afterwards, connections that have died without a sign are found and ended: the work on them is
   * rejected as in an outage.
   */
  promptly<T>(withinMs: number, work: Work<T>): Promise<T>;

  /** The time of the database, in milliseconds since the epoch. */
  now(): Promise<number>;

  /**
   * Takes locks on names until the end of the transaction, always in the same order; waits while other transactions have them.
   * Outside of a transaction it only waits.
   */
  lock(db: Db, ...names: string[]): Promise<void>;

  /**
   * The reason for the operator, if an error means that the database cannot be used at present. Undefined only for errors that
   * are known to be final: the same work would fail again. An unknown error counts as an outage, because an outage that is
   * mistaken for a final error would lose runs.
   */
  outageOf(error: unknown): string | undefined;

  /** Removes what was deleted from the disk too, as far as the database can do that on demand. */
  purge(): Promise<void>;

  close(): Promise<void>;
}

/**
 * Whether an error comes from the work itself and not from the database: a refusal, a row that is missing, or a defect of the
 * program. To try again would not help. All other errors are retried, unless the driver knows that they are final.
 */
export function isOwnError(error: unknown): boolean {
  const types = [QueryError, OtherVersion, NoResultError, TypeError, RangeError, ReferenceError, SyntaxError];
  return types.some((type) => error instanceof type);
}

/** The code of an error of a database or of the system; empty if it has none. */
export function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : '';
}
