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
 * How work is done. Default: each of its statements is committed by itself.
 *
 * - `transaction`: all statements are committed together; see `Driver.transact`.
 * - `round trip`: the same, and all statements are passed at once; see `Driver.transactAtOnce`.
 */
type How = 'transaction' | 'round trip';

/** The work is one statement that must be answered within a time, in milliseconds, also in an outage; see `Driver.promptly`. */
type Promptly = { withinMs: number };

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
  async attempt<T>(work: Work<T>, how?: How | Promptly): Promise<T> {
    const isPrompt = typeof how === 'object';
    if (this.#isFull && how !== undefined && !isPrompt) await this.#findSpace();
    if (this.#outageSince !== undefined && !this.#isFull && !isPrompt) this.#startProbe();
    try {
      const value = await this.#do(work, how);
      this.#endOutage();
      return value;
    } catch (error) {
      if (!this.#isOutage(error)) throw error;
      throw new DatabaseUnavailable(error);
    }
  }

  /**
   * Does some work, however long an outage lasts. `work` must be repeatable: it may be called again after it was committed.
   *
   * @param isOutage which errors are retried. Default: those that the driver does not know to be final
   * @throws {QueryError} `unavailable`: the store was closed during an outage
   */
  async persist<T>(
    work: Work<T>,
    how?: How,
    isOutage = (error: unknown) => this.#isOutage(error),
  ): Promise<T> {
    const { signal } = this.#closing;
    for (let pauseMs = BACKOFF.least; ; pauseMs = Math.min(2 * pauseMs, BACKOFF.most)) {
      try {
        const value = await this.#do(work, how);
        this.#endOutage();
        return value;
      } catch (error) {
        if (!isOutage(error)) throw error;
        if (signal.aborted) throw new DatabaseUnavailable(error);
      }
      await delay(jittered(pauseMs), undefined, { signal }).catch(() => undefined);
    }
  }

  /** Closes the database. Work that waits for the end of an outage is tried once more, and then rejects. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.driver.close();
  }

  /** Calls `work` in this tick. */
  #do<T>(work: Work<T>, how?: How | Promptly): Promise<T> {
    if (how === undefined) return work(this.driver.db);
    if (how === 'transaction') return this.driver.transact(work);
    if (how === 'round trip') return this.driver.transactAtOnce(work);
    return this.driver.promptly(how.withinMs, work);
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
