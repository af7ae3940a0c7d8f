import { Logger } from '@nestjs/common';
import { QueryError } from '../../query/index.js';
import type { Backend } from './driver.js';
import type { Db } from '../schema/tables.js';

/** Between two tries to write something, in milliseconds: doubled from the least to the most. */
const BACKOFF = { least: 25, most: 2_000 };
/** While the database is away, so often somebody who could be refused tries whether it is back. In milliseconds. */
const PROBE_MS = 1_000;

/**
 * A database that may be away for a while: work is either refused then, or done when it is back.
 *
 * Work that is refused or tried again may have been done all the same, if the connection broke while it was committed.
 */
export class Database {
  static readonly #logger = new Logger('Database');
  #awaySince: number | undefined;
  #probed = 0;
  readonly #closing = new AbortController();

  constructor(readonly backend: Backend) {}

  /**
   * Does something for somebody who can come back later.
   *
   * @throws {QueryError} `unavailable`: the database is away
   */
  async attempt<T>(work: (db: Db) => Promise<T>): Promise<T> {
    if (this.#awaySince !== undefined) {
      if (Date.now() - this.#probed < PROBE_MS) throw unavailable();
      this.#probed = Date.now();
    }
    try {
      const value = await work(this.backend.db);
      this.#back();
      return value;
    } catch (error) {
      if (!this.#away(error)) throw error;
      throw unavailable(error);
    }
  }

  /**
   * Does something that must be done, however long the database is away. `work` may be called again after it was done.
   *
   * @throws {QueryError} `unavailable`: the store was closed before the database was back
   */
  async persist<T>(work: (db: Db) => Promise<T>): Promise<T> {
    for (let delay = BACKOFF.least; ; delay = Math.min(2 * delay, BACKOFF.most)) {
      try {
        const value = await work(this.backend.db);
        this.#back();
        return value;
      } catch (error) {
        if (!this.#away(error)) throw error;
        if (this.#closing.signal.aborted) throw unavailable(error);
      }
      await this.#pause(delay);
    }
  }

  /** As `persist`, for one statement that writes. */
  persistStatement<T>(work: (db: Db) => Promise<T>): Promise<T> {
    return this.persist(() => this.backend.write(work));
  }

  /** As `attempt`, in a transaction. */
  attemptTransaction<T>(work: (db: Db) => Promise<T>): Promise<T> {
    return this.attempt(() => this.backend.transact(work));
  }

  /** As `persist`, in a transaction. */
  persistTransaction<T>(work: (db: Db) => Promise<T>): Promise<T> {
    return this.persist(() => this.backend.transact(work));
  }

  /** Gives up what waits for the database to come back, and closes it. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.backend.close();
  }

  #pause(delay: number): Promise<void> {
    const { signal } = this.#closing;
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, delay);
      signal.addEventListener('abort', end);
    });
  }

  /** Whether an error says that the database is away; told to the operator once. */
  #away(error: unknown): boolean {
    const reason = this.backend.outageOf(error);
    if (reason === undefined) return false;
    if (this.#awaySince === undefined) {
      this.#awaySince = Date.now();
      Database.#logger.error(
        `The database ${this.backend.name} cannot be used: ${reason}. Runs wait for it, and new queries are refused.`,
      );
    }
    return true;
  }

  #back(): void {
    if (this.#awaySince === undefined) return;
    const seconds = ((Date.now() - this.#awaySince) / 1000).toFixed(1);
    this.#awaySince = undefined;
    Database.#logger.log(`The database ${this.backend.name} is back after ${seconds} s.`);
  }
}

function unavailable(cause?: unknown): QueryError {
  const detail = 'The record of runs cannot be reached at present. Try again in a moment.';
  return new QueryError('unavailable', detail, { retryAfter: 2 }, { cause });
}
