import { Logger } from '@nestjs/common';
import pg from 'pg';

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

/** How long a statement may take, and how long a new connection may take, in milliseconds. */
const ANSWER_MS = 2_000;

/** Opens a small pool for short statements. The server need not be reachable. */
export function openPool(url: URL, poolSize: number): OpenPool {
  const server = new URL(url);
  const schema = server.searchParams.get('schema') ?? undefined;
  server.searchParams.delete('schema');
  const pool = new pg.Pool({
    connectionString: server.href,
    max: poolSize,
    connectionTimeoutMillis: ANSWER_MS,
    statement_timeout: ANSWER_MS,
    query_timeout: ANSWER_MS,
    keepAlive: true,
    application_name: 'nest-agent-query',
  });
  // An idle connection was lost. If the server is really unavailable, the next statement reports that.
  pool.on('error', (error) => Logger.debug(error.message, 'Postgres'));
  return { pool, schema, close: () => pool.end() };
}
