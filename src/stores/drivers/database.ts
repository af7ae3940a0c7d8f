import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { jittered, QueryError, stackForLog, textForLog } from '../../query/index.js';
import { DISK_FULL, type Driver, type Work } from './driver.js';

/** The longest pause between two attempts to write, in milliseconds: doubled each time, from `least` to `most`. */
const BACKOFF = { least: 25, most: 2_000 };

/** During an outage, `attempt` tries the database at most once in this time, in milliseconds. */
const PROBE_MS = 1_000;

/** What a full disk must have space for before queries are admitted again, in bytes: more than most of them write. */
const PROBE_BYTES = 256 * 1024;

/**
 * A database that may have outages. During an outage, work is either refused (`attempt`) or waits (`persist`).
 *
 * Work that was refused or repeated may have been committed all the same, if the connection broke during the commit.
 */
export class Database {
  static readonly #logger = new Logger('Database');
  #outageSince: number | undefined;
  #probedAt = 0;
  /** Whether the outage is a full disk. Then reads are not refused, and what can be written at times does not end it. */
  #isFull = false;
  /** Called when an outage becomes known. */
  onOutage: () => void = () => undefined;
  readonly #closing = new AbortController();
  /** The time of the database, when it was asked last, and when that was. */
  #clock = { time: Date.now(), at: performance.now() };

  constructor(readonly driver: Driver) {}

  /** Whether the database can be used, as far as this process knows. */
  get isAvailable(): boolean {
    return this.#outageSince === undefined;
  }

  /** The time of the database, in milliseconds since the epoch. The clock of this machine may differ from it. */
  now(): number {
    return Math.round(this.#clock.time + performance.now() - this.#clock.at);
  }

  async synchronize(): Promise<void> {
    const before = performance.now();
    const ask = () => this.driver.now();
    // A file answers with the clock of this process, which says nothing about an outage.
    const time = this.driver.isShared ? await this.attempt(ask) : await ask();
    this.#clock = { time, at: (before + performance.now()) / 2 };
  }

  /**
   * Does some work, or refuses it during an outage. For callers that can try again later.
   *
   * @throws {QueryError} `unavailable`: the database cannot be used at present
   */
  async attempt<T>(work: Work<T>): Promise<T> {
    if (this.#outageSince !== undefined && !this.#isFull) this.#startProbe();
    return this.#try(() => work(this.driver.db));
  }

  /** Does the same as `attempt` with one statement that must be answered within a time, also in an outage; see `Driver.promptly`. */
  attemptPromptly<T>(withinMs: number, work: Work<T>): Promise<T> {
    return this.#try(() => this.driver.promptly(withinMs, work));
  }

  /**
   * Does some work, however long an outage lasts. `work` must be repeatable: it may be called again after it was committed.
   *
   * @param isOutage which errors are retried. Default: those that the driver does not know to be final
   * @throws {QueryError} `unavailable`: the store was closed during an outage
   */
  async persist<T>(work: Work<T>, isOutage = (error: unknown) => this.#isOutage(error)): Promise<T> {
    const { signal } = this.#closing;
    for (let pauseMs = BACKOFF.least; ; pauseMs = Math.min(2 * pauseMs, BACKOFF.most)) {
      try {
        const value = await work(this.driver.db);
        this.#endOutage();
        return value;
      } catch (error) {
        if (!isOutage(error)) throw error;
        if (signal.aborted) throw new DatabaseUnavailable(error);
      }
      await delay(jittered(pauseMs), undefined, { signal }).catch(() => undefined);
    }
  }

  /** Does the same as `attempt`, in a transaction whose statements are passed at once; see `Driver.transactAtOnce`. */
  async attemptAtOnce<T>(work: Work<T>): Promise<T> {
    if (this.#isFull) await this.#findSpace();
    return this.attempt(() => this.driver.transactAtOnce(work));
  }

  /** Does the same as `persist`, in a transaction whose statements are passed at once. */
  persistAtOnce<T>(work: Work<T>): Promise<T> {
    return this.persist(() => this.driver.transactAtOnce(work));
  }

  /** Does the same as `attempt`, in a transaction. */
  async attemptTransaction<T>(work: Work<T>): Promise<T> {
    if (this.#isFull) await this.#findSpace();
    return this.attempt(() => this.driver.transact(work));
  }

  /** Does the same as `persist`, in a transaction. */
  persistTransaction<T>(work: Work<T>, isOutage?: (error: unknown) => boolean): Promise<T> {
    return this.persist(() => this.driver.transact(work), isOutage);
  }

  /** Closes the database. Work that waits for the end of an outage is tried once more, and then rejects. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.driver.close();
  }

  async #try<T>(work: () => Promise<T>): Promise<T> {
    try {
      const value = await work();
      this.#endOutage();
      return value;
    } catch (error) {
      if (!this.#isOutage(error)) throw error;
      throw new DatabaseUnavailable(error);
    }
  }

  /** @throws {DatabaseUnavailable} the last probe was a moment ago */
  #startProbe(): void {
    if (Date.now() - this.#probedAt < PROBE_MS) throw new DatabaseUnavailable();
    this.#probedAt = Date.now();
  }

  /** @throws {DatabaseUnavailable} the disk is still full */
  async #findSpace(): Promise<void> {
    this.#startProbe();
    const text = randomBytes(PROBE_BYTES / 2).toString('hex');
    await this.attempt((db) => db.insertInto('probes').values({ text }).execute());
    await this.attempt((db) => db.deleteFrom('probes').execute());
    this.#isFull = false;
    this.#endOutage();
  }

  /** Whether an error means an outage. The first error of an outage is logged, unless the store was closed. */
  #isOutage(error: unknown): boolean {
    const reason = this.driver.outageOf(error);
    if (reason === undefined) return false;
    this.#isFull = reason === DISK_FULL;
    if (this.#outageSince === undefined && !this.#closing.signal.aborted) {
      this.#outageSince = Date.now();
      Database.#logger.error(
        `The database ${this.driver.name} cannot be used: ${textForLog(reason)}. Runs wait for it, and new queries are refused.`,
      );
      this.onOutage();
    }
    return true;
  }

  #endOutage(): void {
    if (this.#outageSince === undefined || this.#isFull) return;
    const seconds = ((Date.now() - this.#outageSince) / 1000).toFixed(1);
    this.#outageSince = undefined;
    Database.#logger.log(`The database ${this.driver.name} can be used again after ${seconds} s.`);
  }
}

/** Logs why something failed that a store does by itself. An outage was logged already. */
export function logFault(message: string, error: unknown): void {
  if (error instanceof QueryError && error.code === 'unavailable') return;
  new Logger('SqlRunStore').error(message, stackForLog(error));
}

/** The database cannot be used at present. Other things may be unavailable too, such as a disk. */
export class DatabaseUnavailable extends QueryError {
  constructor(cause?: unknown) {
    const detail = 'The service cannot reach its database at present. Try again in a moment.';
    super('unavailable', detail, { retryAfter: 2 }, { cause });
  }
}
