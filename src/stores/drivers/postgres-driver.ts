import { Logger } from '@nestjs/common';
import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import type { Backend } from './driver.js';
import { migrate } from '../schema/migrations.js';
import type { Db, Tables } from '../schema/tables.js';

/** How the service uses a Postgres server. Times are milliseconds. */
export interface PostgresOptions {
  /** The schema for all tables, made if it is missing. Default `agent_query`. */
  schema: string;
  /** How many connections the process has at most. Default 10. */
  poolSize: number;
  /** The longest that one statement may take. Default 30,000. */
  statementTimeoutMs: number;
  /** The longest that a connection may take to come about or to come free. Default 5,000. */
  connectTimeoutMs: number;
}

export const POSTGRES_DEFAULTS: PostgresOptions = {
  schema: 'agent_query',
  poolSize: 10,
  statementTimeoutMs: 30_000,
  connectTimeoutMs: 5_000,
};

const INT8 = 20;

/** As text it would be no number; nothing that is kept here comes near 2^53. */
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === INT8 ? Number : (pg.types.getTypeParser(oid, format) as (value: string) => unknown),
};

/** SQLSTATE classes (Postgres, appendix A) that speak of the server, not of the statement. */
const OUTAGE_CLASSES = new Set(['08', '53', '57', '58']);
/** Serialization failure, deadlock: the transaction is to be done again. */
const AGAIN = new Set(['40001', '40P01']);
const ATTEMPTS = 5;

/** A Postgres database, shared with other processes. */
export class PostgresBackend implements Backend {
  readonly isShared = true;
  readonly contents = undefined;

  private constructor(
    readonly name: string,
    readonly db: Db,
  ) {}

  /**
   * Connects, and brings the tables to the newest version.
   *
   * @param url as `pg` takes it, TLS included (`sslmode`, `sslrootcert`, …)
   * @param options `schema` is that of the URL's parameter of this name, if it has one
   * @throws Error with a sentence for the operator; `isOutage` where another try makes sense
   */
  static async open(url: URL, options: Partial<PostgresOptions>): Promise<PostgresBackend> {
    const { poolSize, statementTimeoutMs, connectTimeoutMs, ...rest } = { ...POSTGRES_DEFAULTS, ...options };
    const server = new URL(url);
    const schema = server.searchParams.get('schema') ?? rest.schema;
    server.searchParams.delete('schema');
    const pool = new pg.Pool({
      connectionString: server.href,
      max: poolSize,
      statement_timeout: statementTimeoutMs,
      connectionTimeoutMillis: connectTimeoutMs,
      // A server that is gone without a word is noticed by this, also where nothing waits for an answer.
      query_timeout: statementTimeoutMs + connectTimeoutMs,
      keepAlive: true,
      application_name: 'nest-agent-query',
      types,
    });
    // An idle connection was lost. Whoever needs one next meets the error, if it still is one.
    pool.on('error', (error) => Logger.debug(error.message, 'Postgres'));
    const kysely = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
    const name = `${url.hostname}:${url.port || 5432}${url.pathname}, schema ${schema}`;
    const backend = new PostgresBackend(name, kysely.withSchema(schema));
    try {
      await migrate(kysely as unknown as Kysely<never>, schema);
      return backend;
    } catch (error) {
      await kysely.destroy();
      const outage = backend.outageOf(error);
      const opened = new Error(
        `The database ${name} cannot be opened: ${outage ?? (error as Error).message}`,
        { cause: error },
      );
      throw Object.assign(opened, { isOutage: outage !== undefined });
    }
  }

  async transact<T>(work: (db: Db) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.db.transaction().execute(work);
      } catch (error) {
        if (!AGAIN.has(codeOf(error)) || attempt === ATTEMPTS) throw error;
      }
    }
  }

  write<T>(work: (db: Db) => Promise<T>): Promise<T> {
    return work(this.db);
  }

  async lock(db: Db, name: string): Promise<void> {
    await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(db);
  }

  outageOf(error: unknown): string | undefined {
    const { message } = error as Error;
    const code = codeOf(error);
    if (/^E[A-Z]+$/.test(code)) return `the server cannot be reached (${code})`;
    if (code.length === 5) return OUTAGE_CLASSES.has(code.slice(0, 2)) ? message : undefined;
    // What `pg` itself says has no code.
    if (
      /^(Connection terminated|timeout exceeded|Query read timeout|Client has encountered)/i.test(message)
    ) {
      return message;
    }
    return undefined;
  }

  async close(): Promise<void> {
    await this.db.destroy();
  }
}

function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : '';
}
