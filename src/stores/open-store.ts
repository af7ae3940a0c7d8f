import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Logger } from '@nestjs/common';
import { MemoryRunStore, OPTIONS, refuseUnknown, type RunStore, withDefaults } from '../query/index.js';
import type { PostgresOptions } from './drivers/postgres-driver.js';
import { STORED_RETENTION_DEFAULTS, type StoredRetention } from './process/retention-options.js';

/** Any of the members of an object. A member that is undefined counts as absent. */
type Optional<T> = { [K in keyof T]?: T[K] | undefined };

/**
 * The options of `openStore`. All are optional; a member that is undefined counts as absent.
 *
 * @example
 * await openStore('postgres://user@host/database', { retention: { runMs: 24 * 60 * 60_000 }, leaseMs: 5_000 })
 */
export interface StoreOptions {
  /**
   * What is kept, and for how long. Members that are absent have the default of the store: for `memory:` that of
   * `MEMORY_RETENTION_DEFAULTS`, otherwise that of `StoredRetention`. `memory:` does not support `fileMs`.
   */
  retention?: Optional<StoredRetention> | undefined;
  /** Only for Postgres: the schema, connections and timeouts. */
  postgres?: Optional<PostgresOptions> | undefined;
  /** Only for Postgres: how long to wait for a server that cannot be reached yet, in milliseconds, from 0. Default 30,000. */
  waitMs?: number | undefined;
  /**
   * Only for Postgres: how long a process may be silent before the other processes recover its runs, in milliseconds,
   * from 1. All processes of a database need the same value. Default 8,000.
   */
  leaseMs?: number | undefined;
}

/**
 * The database of the standalone service if `DATABASE_URL` is not set: a file in the working directory.
 *
 * @example
 * const store = await openStore(url ?? DEFAULT_DATABASE_URL);
 */
export const DEFAULT_DATABASE_URL = 'file:./data/agent-query.db';

const STORE_OPTIONS: Record<keyof StoreOptions, true> = {
  retention: true,
  postgres: true,
  waitMs: true,
  leaseMs: true,
};

const POSTGRES_OPTIONS: Record<keyof PostgresOptions, true> = {
  schema: true,
  poolSize: true,
  statementTimeoutMs: true,
  connectTimeoutMs: true,
  directUrl: true,
};

const POSTGRES_URL = /^postgres(ql)?:\/\//;

const WAIT_MS = 30_000;
const RETRY_MS = 250;

/** After this time an operator is told that the server cannot be reached. */
const REPORT_MS = 1_000;

/**
 * Opens the store that a URL names, for the option `store` of `QueryModule`. The module closes it.
 *
 * | URL | store |
 * |---|---|
 * | `memory:` | the memory of this process |
 * | `file:./data/agent-query.db`, `file:///var/lib/agent.db` | a SQLite file that belongs to this process alone; the contents of files are in the directory `<path>.files` |
 * | `postgres://user:password@host:5432/database?sslmode=verify-full` | a Postgres database, which several processes may share. `?schema=` names the schema |
 *
 * The file, its parent directories and the Postgres schema are created if they are missing. Tables of an older version are
 * brought to the newest version.
 *
 * @param url one of the forms above. A relative path counts from the working directory
 * @param options everything has a default
 * @throws {TypeError} an option is unknown · Error with a sentence for the operator: the URL has another form; the store does not support an option;
 * the database is used by another process (a file), is damaged, is no database, was written by a newer
 * version, cannot be written or cannot be reached. No message contains a password
 *
 * @example
 * QueryModule.forRootAsync({
 *   useFactory: async () => ({ handler: MyHandler, store: await openStore('file:./data/agent-query.db') }),
 * })
 */
export async function openStore(url: string, options: StoreOptions = {}): Promise<RunStore> {
  refuseUnknown('openStore', options, STORE_OPTIONS);
  refuseUnknown('openStore: postgres', options.postgres, POSTGRES_OPTIONS);
  if (url === 'memory:') return openMemory(options);
  if (url.startsWith('file:')) return openFile(pathOf(url), options);
  const direct = options.postgres?.directUrl;
  // Not the URL itself: it may contain a password.
  if (direct !== undefined && !(POSTGRES_URL.test(direct) && URL.canParse(direct)))
    throw new Error('postgres.directUrl must be postgres://<user>@<host>/<database>.');
  if (POSTGRES_URL.test(url)) return openPostgres(new URL(url), options);
  // Not the URL itself: it may contain a password.
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(url)?.[0];
  throw new Error(
    `The database URL ${scheme === undefined ? 'has no scheme' : `begins with ${scheme}`}; ` +
      'it must be memory:, file:<path> or postgres://<user>@<host>/<database>.',
  );
}

function openMemory({ retention }: StoreOptions): RunStore {
  const { fileMs, ...limits } = retention ?? {};
  if (fileMs !== undefined) {
    throw new Error(
      'The store memory: does not support retention.fileMs, because it keeps a file as long as the session. ' +
        'Remove fileMs, or use a file or Postgres.',
    );
  }
  return new MemoryRunStore(limits);
}

/** The path of a `file:` URL. `file:relative/path` is not a valid URL, but it is common. */
export function pathOf(url: string): string {
  const path = url.startsWith('file://') ? fileURLToPath(url) : decodeURIComponent(url.slice('file:'.length));
  if (path === '' || path.endsWith('/'))
    throw new Error('The database URL file: must name a file, not a directory.');
  return path;
}

async function openFile(path: string, { retention }: StoreOptions): Promise<RunStore> {
  const { LibsqlDriver } = await import('./drivers/libsql-driver.js');
  const { SqlRunStore } = await import('./sql-run-store.js');
  return new SqlRunStore(await LibsqlDriver.open(path), { retention: storedRetention(retention) });
}

/** What is wrong with a server that cannot be opened. */
interface PostgresTrouble {
  isOutage: boolean;
  isReached: boolean;
  cause: NodeJS.ErrnoException;
}

async function openPostgres(url: URL, options: StoreOptions): Promise<RunStore> {
  const { leaseMs, waitMs = WAIT_MS } = options;
  const retention = storedRetention(options.retention);
  const { PostgresDriver } = await import('./drivers/postgres-driver.js');
  const { SqlRunStore } = await import('./sql-run-store.js');
  const until = Date.now() + waitMs;
  let trouble = 'reached yet';
  const report = setTimeout(() => {
    const again = `It is tried again until ${waitMs} ms have passed.`;
    new Logger('Stores').warn(`The Postgres server ${url.host} cannot be ${trouble}. ${again}`);
  }, REPORT_MS);
  try {
    for (;;) {
      try {
        return new SqlRunStore(await PostgresDriver.open(url, options.postgres), { retention, leaseMs });
      } catch (error) {
        const { isOutage, isReached, cause } = error as Partial<PostgresTrouble>;
        if (!isOutage || Date.now() + RETRY_MS > until) throw error;
        trouble = `${isReached ? 'used' : 'reached'} yet: ${cause!.message || cause!.code}`;
        await delay(RETRY_MS);
      }
    }
  } finally {
    clearTimeout(report);
  }
}

/** @throws {TypeError} a member is unknown or out of its range */
function storedRetention(retention: StoreOptions['retention']): StoredRetention {
  const faults: string[] = [];
  const checked = withDefaults('retention', retention, STORED_RETENTION_DEFAULTS, OPTIONS.retention, faults);
  if (faults.length > 0) throw new TypeError(`openStore: ${faults.join(' ')}`);
  return checked;
}
