import { QueryRates, WINDOW_SECONDS } from './query-rates.js';
import { PostgresQueryRates, RATES_TABLE } from './postgres-query-rates.js';
import { checkRateLimit, type RateLimitModuleOptions } from './rate-limit.options.js';

/** The schema of the stores on Postgres. */
const SCHEMA = 'agent_query';

/**
 * Opens the counters that the options name. The database need not be reachable.
 *
 * @throws {TypeError} an option is unknown or faulty
 */
export async function openQueryRates(options: RateLimitModuleOptions): Promise<QueryRates> {
  checkRateLimit(options);
  const { RateLimiterMemory, RateLimiterPostgres } = await import('rate-limiter-flexible');
  const limits = { points: options.queriesPerMinute, duration: WINDOW_SECONDS, keyPrefix: '' };
  const memory = new RateLimiterMemory(limits);
  if (options.postgres === undefined) return new QueryRates(memory);
  const { pool, schema = SCHEMA, close = async () => undefined } = options.postgres;
  const escaped = schema.replaceAll('"', '""');
  const limiter = new RateLimiterPostgres({
    ...limits,
    storeClient: pool,
    storeType: 'pool',
    // The package quotes the name, but does not escape it.
    schemaName: escaped,
    tableName: RATES_TABLE,
    tableCreated: true,
    clearExpiredByTimeout: false,
  });
  return new PostgresQueryRates(memory, limiter, pool, `"${escaped}"`, close);
}
