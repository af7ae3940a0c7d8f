import { setTimeout as delay } from 'node:timers/promises';
import { CompiledQuery, Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import { jittered } from '../../query/index.js';
import { migrate } from '../schema/migrate.js';
import type { Db, Tables } from '../schema/tables.js';
import { codeOf, DISK_FULL, type Driver, isOwnError, type Work } from './driver.js';
import { type Limits, LOCKING, PostgresConnections, serverOf } from './postgres-connections.js';
import { PostgresSignals } from './postgres-signals.js';

/**
 * How a process uses a Postgres server. Times are milliseconds.
 *
 * @example
 * await openStore('postgres://user@host/database', { postgres: { schema: 'agents', poolSize: 20 } })
 */
export interface PostgresOptions {
  /** The schema for all tables, created if it is missing. `?schema=` in the URL takes precedence. Default `agent_query`. */
  schema: string;
  /** The most connections of this process, from 1. Default 10. */
  poolSize: number;
  /** The longest that one statement may take. Default 30,000. */
  statementTimeoutMs: number;
  /** The longest wait for a new connection, or for a free one of the pool. Default 5,000. */
  connectTimeoutMs: number;
  /**
   * Another URL of the same database, for signals between processes: that of the server itself, if the URL of the store is that of
   * a pooler which gives a connection to several clients in turn. Default: the URL of the store.
   */
  directUrl: string;
}

/**
 * The server ends a transaction that does nothing for so long. A process that is frozen in a transaction would otherwise hold
 * its locks, and other processes could not take its runs over.
 */
const IDLE_IN_TRANSACTION_MS = 4_000;

/** The number of the type `int8` in the Postgres catalogue. */
const INT8 = 20;

/** `pg` returns int8 as text. Numbers are safe here: no value of the tables comes near 2^53. */
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === INT8 ? Number : (pg.types.getTypeParser(oid, format) as (value: string) => unknown),
};

/**
 * The SQLSTATE (Postgres, appendix A) of errors that are final: a feature is not supported, the data violates its type or a
 * constraint, the statement is wrong, a limit of the program is exceeded, a row is damaged. Other rows can be used then.
 */
const FINAL = /^((0A|21|22|23|42|44|54)...|XX001)$/;
/** Those of them that an operator can repair while the service runs: missing privileges, missing tables. */
const RECOVERABLE = new Set(['42501', '42P01', '3F000']);
const RIGHTS =
  'Give the role of the URL the right CREATE on the database, or make a schema that belongs to it.';
const TLS = 'Check sslmode and sslrootcert of the URL.';
/**
 * What a start does not wait for, by its SQLSTATE or the beginning of its code, with its message, and what the operator does then.
 * $1 stands for a part of the message. Most poolers have the code 08P01 for all that they say.
 */
const REFUSALS: [RegExp, string][] = [
  [/^(42501|3F000) /, RIGHTS],
  [
    /^(3D000|08P01 (database .* does not exist|no such database))/,
    'Create the database, or name another one in the URL.',
  ],
  [
    /^(28P01|28000|08P01 .*(authentication failed|no such user))/,
    'Check the user and the password of the URL, and pg_hba.conf of the server.',
  ],
  [/^(CERT_|ERR_TLS_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_)/, TLS],
  [/^ The server does not support SSL/, TLS],
  [
    /^08P01 transaction blocks not allowed/,
    'PgBouncer with pool_mode = statement cannot be used. Set pool_mode = session for this database.',
  ],
  [
    /^08P01 unsupported startup parameter: (\w+)/,
    'Remove $1 from the URL, or set ignore_startup_parameters = $1 in the section [pgbouncer] of its configuration.',
  ],
  [
    /^08P01 (?!.*(timeout|try again|server_login_retry|no more connections|cannot connect|shut ?down|paus|clos|crash))/,
    'Check the configuration of the pooler, and its log.',
  ],
];
/** Serialization failure and deadlock: Postgres asks the client to repeat the transaction. */
const RETRYABLE = new Set(['40001', '40P01']);
const MAX_ATTEMPTS = 5;
/** The longest pause after the first attempt, in milliseconds. After the second it is twice as long, and so on. */
const RETRY_MS = 20;
/** Takes locks on names. It is not compiled by Kysely, which takes longer than the lock: most transactions begin with one. */
const LOCK = `${LOCKING}hashtextextended(name, 0)) from unnest($1::text[]) as name`;
/** The SQLSTATE of a disk without space. */
const FULL = '53100';

/** A Postgres database, which several processes may share. */
export class PostgresDriver implements Driver {
  readonly isShared = true;
  readonly contentDirectory = undefined;
  readonly journal = undefined;
  #promptDb: Db | undefined;

  private constructor(
    readonly name: string,
    readonly db: Db,
    readonly signals: PostgresSignals,
    private readonly connections: PostgresConnections,
    /** Opens one more connection, which answers within a time. */
    private readonly openPrompt: (withinMs: number) => Db,
  ) {}

  /**
   * Connects, and brings the tables to the newest version.
   *
   * @param url as `pg` reads it, including TLS (`sslmode`, `sslrootcert`, …)
   * @throws Error with a sentence for the operator; its property `isOutage` tells whether another attempt may succeed, and
   * `isReached` whether the server has answered
   */
  static async open(
    url: URL,
    options: { [K in keyof PostgresOptions]?: PostgresOptions[K] | undefined } = {},
  ): Promise<PostgresDriver> {
    const { poolSize = 10, statementTimeoutMs = 30_000, connectTimeoutMs = 5_000, directUrl } = options;
    const { config, schema = options.schema ?? 'agent_query' } = serverOf(url);
    const connection = { ...config, connectionTimeoutMillis: connectTimeoutMs, types };
    const connect = (settings: pg.PoolConfig, limits?: Limits) =>
      new PostgresConnections({ ...connection, ...settings }, limits);
    const connections = connect(
      // The client's own limit: a server that vanished does not enforce statement_timeout.
      { max: poolSize, query_timeout: statementTimeoutMs + connectTimeoutMs },
      {
        statement_timeout: statementTimeoutMs,
        idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
      },
    );
    const openPrompt = (withinMs: number) =>
      dbOf(connect({ max: 1, connectionTimeoutMillis: withinMs, query_timeout: withinMs }), schema);
    const name = `${url.hostname}:${url.port || 5432}${url.pathname}, schema ${schema}`;
    const db = dbOf(connections, schema);
    const signals = new PostgresSignals(
      directUrl === undefined ? connection : { ...connection, ...serverOf(new URL(directUrl)).config },
      () => channelOf(db),
      (channel) => sql`select from pg_notify(${channel}, '')`.execute(db),
      directUrl !== undefined,
    );
    const driver = new PostgresDriver(name, db, signals, connections, openPrompt);
    try {
      await migrate(db.withoutPlugins() as Kysely<never>, schema);
      return driver;
    } catch (error) {
      await db.destroy();
      const { message } = error as Error;
      const known = `${codeOf(error)} ${message}`;
      const refusal = REFUSALS.find(([kind]) => kind.test(known));
      const advice = refusal?.[1].replaceAll('$1', refusal[0].exec(known)![1] ?? '');
      const outage = driver.outageOf(error);
      const reason = advice === undefined ? (outage ?? message) : `${message}. ${advice}`;
      throw Object.assign(new Error(`The database ${name} cannot be opened: ${reason}`, { cause: error }), {
        isOutage: outage !== undefined && advice === undefined,
        isReached: error instanceof pg.DatabaseError,
      });
    }
  }

  async transact<T>(work: Work<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.db.transaction().execute(work);
      } catch (error) {
        if (!RETRYABLE.has(codeOf(error)) || attempt === MAX_ATTEMPTS) throw error;
      }
      await delay(jittered(attempt * RETRY_MS));
    }
  }

  transactAtOnce<T>(work: Work<T>): Promise<T> {
    return work(this.db);
  }

  snapshot<T>(work: Work<T>): Promise<T> {
    return this.db
      .transaction()
      .setIsolationLevel('repeatable read')
      .setAccessMode('read only')
      .execute(work);
  }

  async promptly<T>(withinMs: number, work: Work<T>): Promise<T> {
    const db = (this.#promptDb ??= this.openPrompt(withinMs));
    const answer = await work(db).catch((error: unknown) => {
      if (error instanceof pg.DatabaseError) throw error;
      this.connections.distrust();
      return work(db);
    });
    // Without an answer, the next call asks again.
    this.connections.endDead(withinMs, (pids) => idleOf(db, pids)).catch(() => undefined);
    return answer;
  }

  async now(): Promise<number> {
    const clock = sql<{ now: number }>`select (extract(epoch from clock_timestamp()) * 1000)::bigint as now`;
    return (await clock.execute(this.db)).rows[0]!.now;
  }

  async lock(db: Db, ...names: string[]): Promise<void> {
    await db.executeQuery(CompiledQuery.raw(LOCK, [names.toSorted()]));
  }

  outageOf(error: unknown): string | undefined {
    if (isOwnError(error)) return undefined;
    const code = codeOf(error);
    if (/^E[A-Z_]+$/.test(code)) return `the server cannot be reached (${code})`;
    if (code === FULL) return DISK_FULL;
    return FINAL.test(code) && !RECOVERABLE.has(code) ? undefined : (error as Error).message;
  }

  /** Postgres removes deleted rows itself, with the next vacuum, and its write-ahead log with later checkpoints. */
  async purge(): Promise<void> {}

  async close(): Promise<void> {
    await this.signals.close();
    await this.#promptDb?.destroy();
    await this.db.destroy();
  }
}

function dbOf(pool: PostgresConnections, schema: string): Db {
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }).withSchema(schema);
}

/** The channel of the signals. */
async function channelOf(db: Db): Promise<string> {
  return (await db.selectFrom('signal_channel').select('name').executeTakeFirstOrThrow()).name;
}

/** Which of these processes of the server wait for a statement. */
async function idleOf(db: Db, pids: number[]): Promise<number[]> {
  const { rows } = await sql<{ pid: number }>`
    select pid from pg_stat_activity where pid = any(${pids}::int[]) and state like 'idle%'`.execute(db);
  return rows.map(({ pid }) => pid);
}
