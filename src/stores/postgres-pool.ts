import type pg from 'pg';

/** A pool of `pg`, as far as it is used, and the schema that the URL names. */
export interface OpenPool {
  pool: {
    query(statement: string | object): Promise<{ rows: unknown[]; rowCount: number | null }>;
  };
  /** Undefined if the URL names none. */
  schema: string | undefined;
  /** Closes all connections. */
  close(): Promise<void>;
}

/** The most connections of the pool: its statements are short. */
const POOL_SIZE = 4;

/** How long a statement may take, and how long a new connection may take, in milliseconds. */
const ANSWER_MS = 2_000;

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
  const { PostgresConnections, serverOf } = await import('./drivers/postgres-connections.js');
  const { config, schema } = serverOf(new URL(url));
  const connections = new PostgresConnections(
    { ...config, max: POOL_SIZE, connectionTimeoutMillis: ANSWER_MS, query_timeout: ANSWER_MS },
    { statement_timeout: ANSWER_MS },
  );
  // Without the name that the package for limits gives a statement: the server connection of a pooler may not know it.
  const query = async (statement: string | object) => {
    const { text, values } = (
      typeof statement === 'string' ? { text: statement } : statement
    ) as pg.QueryConfig;
    const connection = await connections.connect();
    try {
      return await connection.query<unknown>(text, values ?? []);
    } finally {
      connection.release();
    }
  };
  return { pool: { query }, schema, close: () => connections.end() };
}
