import { hash } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { RateLimiterMemory, RateLimiterPostgres } from 'rate-limiter-flexible';
import { settlesWithin, textForLog } from '../../query/index.js';
import { countIn, QueryRates, type Rate } from './query-rates.js';
import type { PostgresConnections } from './rate-limit.options.js';

/** The table of the counters. */
export const RATES_TABLE = 'query_rates';

/** How long a query waits for the database before it is counted in memory. */
const ANSWER_MS = 1_000;

/** How long the database is left alone after it did not answer. */
const PAUSE_MS = 5_000;

/** How often counters whose window has ended are deleted, and how long ago it must have ended. */
const CLEAR_MS = 5 * 60_000;

/**
 * Counts in Postgres, so that a limit holds for all processes. While the database cannot be reached, each process counts in its
 * own memory: the limit then holds for each of them.
 */
export class PostgresQueryRates extends QueryRates {
  readonly #logger = new Logger('RateLimit');
  readonly #clearing: NodeJS.Timeout;
  #hasTable = false;
  #pausedUntil = -Infinity;
  #isOut = false;

  /**
   * @param memory counts while the database cannot be reached
   * @param limiter the counters in the database
   * @param connections for the table
   * @param schema the schema of the table, quoted
   * @param closeConnections is called by `close`
   */
  constructor(
    memory: RateLimiterMemory,
    private readonly limiter: RateLimiterPostgres,
    private readonly connections: PostgresConnections,
    private readonly schema: string,
    private readonly closeConnections: () => Promise<void>,
  ) {
    super(memory);
    this.#clearing = setInterval(() => void this.#clear(), CLEAR_MS).unref();
  }

  override async count(owner: string): Promise<Rate> {
    if (performance.now() < this.#pausedUntil) return super.count(owner);
    const counting = this.#countInTable(owner);
    const settled = counting.then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error.message || String(error.code),
    );
    const isInTime = await settlesWithin(ANSWER_MS, settled);
    const fault = isInTime ? await settled : `it has not answered within ${ANSWER_MS} ms`;
    if (fault !== undefined) {
      this.#isGone(fault);
      return super.count(owner);
    }
    this.#isBack();
    return counting;
  }

  override async close(): Promise<void> {
    clearInterval(this.#clearing);
    await this.closeConnections();
  }

  async #countInTable(owner: string): Promise<Rate> {
    if (!this.#hasTable) await this.#createTable();
    // An owner may have any length, and the table need not say who it is.
    return countIn(this.limiter, hash('sha256', owner, 'base64url'));
  }

  /** The limiter would create the table once only, and not its schema. */
  async #createTable(): Promise<void> {
    const table = `${this.schema}.${RATES_TABLE}`;
    const { rows } = await this.connections.query({
      text: 'select to_regclass($1) is not null as has_table, to_regnamespace($2) is not null as has_schema',
      values: [table, this.schema],
    });
    const [{ has_table: hasTable, has_schema: hasSchema }] = rows as [Record<string, boolean>];
    // Statements of one message are one transaction. The lock is for processes that create the same thing at the same time. A
    // schema that exists is not created, because that needs a privilege that the service may not have.
    if (!hasTable)
      await this.connections.query(
        `select pg_advisory_xact_lock(hashtextextended('nest-agent-query ${RATES_TABLE}', 0));
         ${hasSchema ? '' : `create schema if not exists ${this.schema};`}
         create table if not exists ${table} (
           key varchar(255) primary key, points integer not null default 0, expire bigint
         )`,
      );
    this.#hasTable = true;
  }

  async #clear(): Promise<void> {
    const text = `delete from ${this.schema}.${RATES_TABLE} where expire < $1`;
    // The next time will do.
    await this.connections.query({ text, values: [Date.now() - CLEAR_MS] }).catch(() => undefined);
  }

  #isGone(fault: string): void {
    this.#pausedUntil = performance.now() + PAUSE_MS;
    // The table may be missing now.
    this.#hasTable = false;
    if (!this.#isOut)
      this.#logger.warn(
        `The queries of owners cannot be counted in Postgres, so the limit now holds for each process: ${textForLog(fault)}`,
      );
    this.#isOut = true;
  }

  #isBack(): void {
    if (this.#isOut) this.#logger.log('The queries of owners are counted in Postgres again.');
    this.#isOut = false;
  }
}
