import type { OpenPool } from './drivers/pool.js';

export type { OpenPool };

/** The most connections of the pool: its statements are short. */
const POOL_SIZE = 4;

/**
 * Opens a pool of `pg` for `RateLimitModule` of `nest-agent-query/access`. The server need not be reachable.
 *
 * @param url `postgres://…`, as `openStore` takes it. `?schema=` names the schema
 * @returns the pool, the schema that the URL names, and a function that closes the pool
 * @throws Error with a sentence for the operator: the URL has another form, or a package is missing. No message contains a
 * password
 *
 * @example
 * RateLimitModule.forRootAsync({
 *   useFactory: async () => ({ queriesPerMinute: 60, postgres: await postgresPool('postgres://user@host/database') }),
 * })
 */
export async function postgresPool(url: string): Promise<OpenPool> {
  if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url))
    // Not the URL itself: it may contain a password.
    throw new Error('The URL of the database must be postgres://<user>@<host>/<database>.');
  const { openPool } = await import('./drivers/pool.js');
  return openPool(new URL(url), POOL_SIZE);
}
