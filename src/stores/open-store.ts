import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { MemoryRunStore, type RunStore } from '../query/index.js';
import type { PostgresOptions } from './drivers/postgres-driver.js';
import type { StoredRetention } from './runs/sql-run-store.js';

/** How a store is opened. Everything has a default. */
export interface StoreOptions {
  /** What is kept of what has ended. Default: that of the store, `RETENTION_DEFAULTS` or `STORED_RETENTION_DEFAULTS`. */
  retention?: Partial<StoredRetention>;
  /** For Postgres: schema, connections, timeouts. */
  postgres?: Partial<PostgresOptions>;
  /** For Postgres: how long a server that is not there (yet) is waited for, in milliseconds. Default 30,000. */
  waitMs?: number;
  /** For Postgres: how long another process may be silent before its runs count as lost, in milliseconds. Default 10,000. */
  leaseMs?: number;
}

/** Where the standalone service keeps its runs unless it is told otherwise. */
export const DEFAULT_DATABASE_URL = 'file:./data/agent-query.db';

const WAIT_MS = 30_000;
const RETRY_MS = 250;

/**
 * Opens the store that a URL names, for the `store` option of `QueryModule`. The module closes it.
 *
 * | URL | store | packages that it needs |
 * |---|---|---|
 * | `memory:` | this process's memory | none |
 * | `file:./data/agent-query.db`, `file:///var/lib/agent.db` | a SQLite file of this process's own, with the contents of files in a directory beside it | `kysely`, `libsql` |
 * | `postgres://user:password@host:5432/database?sslmode=verify-full` | a Postgres database, which several processes may share. `?schema=` names the schema | `kysely`, `pg` |
 *
 * @param url one of these. A relative path counts from the working directory
 * @throws Error with a sentence for the operator: the URL is none of these; a package is missing; the database is in use
 * by another process, is damaged, is no database, was written by a newer version, cannot be written or cannot be reached
 *
 * @example
 * QueryModule.forRootAsync({
 *   useFactory: async () => ({ handler: MyHandler, store: await openStore('file:./data/agent-query.db') }),
 * })
 */
export async function openStore(url: string, options: StoreOptions = {}): Promise<RunStore> {
  if (url === 'memory:') return new MemoryRunStore(options.retention);
  if (url.startsWith('file:')) return openFile(pathOf(url), options);
  if (/^postgres(ql)?:\/\//.test(url)) return openPostgres(new URL(url), options);
  // Not the URL itself: it may hold a password.
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(url)?.[0] ?? 'nothing that ends with a colon';
  throw new Error(
    `The database URL begins with ${scheme}; it must be memory:, file:<path> or postgres://<user>@<host>/<database>.`,
  );
}

/** `file:relative/path` is no URL by the letter, but what people write. */
function pathOf(url: string): string {
  const path = url.startsWith('file://') ? fileURLToPath(url) : decodeURIComponent(url.slice('file:'.length));
  if (path === '' || path.endsWith('/'))
    throw new Error('The database URL file: must name a file, not a directory.');
  return path;
}

async function openFile(path: string, { retention }: StoreOptions): Promise<RunStore> {
  const { LibsqlBackend } = await needing('kysely and libsql', () => import('./drivers/libsql-driver.js'));
  const { SqlRunStore } = await import('./runs/sql-run-store.js');
  return new SqlRunStore(await LibsqlBackend.open(path), { retention });
}

async function openPostgres(url: URL, options: StoreOptions): Promise<RunStore> {
  const { retention, leaseMs, waitMs = WAIT_MS } = options;
  const { PostgresBackend } = await needing('kysely and pg', () => import('./drivers/postgres-driver.js'));
  const { SqlRunStore } = await import('./runs/sql-run-store.js');
  const until = Date.now() + waitMs;
  for (;;) {
    try {
      return new SqlRunStore(await PostgresBackend.open(url, options.postgres ?? {}), { retention, leaseMs });
    } catch (error) {
      if (!(error as { isOutage?: boolean }).isOutage || Date.now() + RETRY_MS > until) throw error;
      await delay(RETRY_MS);
    }
  }
}

async function needing<T>(packages: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new Error(
      `This database needs packages that are not installed: npm install ${packages.replace('and ', '')}.`,
      {
        cause: error,
      },
    );
  }
}
