import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import pg from 'pg';
import { textForLog } from '../../query/index.js';

/** Reads the URL of a server: the configuration for `pg`, which does not know the parameter `schema`, and the schema. */
export function serverOf(url: URL): { config: pg.PoolConfig; schema: string | undefined } {
  const server = new URL(url);
  const schema = server.searchParams.get('schema') ?? undefined;
  server.searchParams.delete('schema');
  const config = { connectionString: server.href, keepAlive: true, application_name: 'nest-agent-query' };
  return { config, schema };
}

/** The least time after which an answer is late, in milliseconds: a server on a busy machine may not have read what was sent. */
const LEAST_LATE_MS = 1_000;

/** What the server limits, in milliseconds: the time of a statement, and that of a transaction which does nothing. */
const LIMITS = ['statement_timeout', 'idle_in_transaction_session_timeout'] as const;
export type Limits = { [K in (typeof LIMITS)[number]]?: number };

/**
 * The connections of a pool for Kysely. One that is lost neither ends the process nor is used again.
 *
 * The limits are sent when a connection begins. A pooler may refuse that, or leave them out. Then each transaction sets them: for
 * itself, because the connection of the server may be that of another client afterwards.
 */
export class PostgresConnections implements PostgresPool {
  readonly #pool: pg.Pool;
  readonly #openedAt = new WeakMap<pg.PoolClient, number>();
  readonly #used = new Set<Connection>();
  #trustedSince = 0;
  /** What each transaction begins with, if the connections do not have the limits. */
  #settings = '';

  constructor(
    config: pg.PoolConfig,
    private readonly limits: Limits = {},
  ) {
    this.#pool = new pg.Pool({ ...config, ...limits, pipeline: true });
    // An idle connection was lost. If the server is really unavailable, the next statement reports that.
    this.#pool.on('error', (error) => Logger.debug(textForLog(error.message), 'Postgres'));
    // A connection may be lost between two statements of a transaction, when the pool does not listen. Without a
    // listener the event would end the process. The next statement reports the loss.
    this.#pool.on('connect', (client) => {
      this.#openedAt.set(client, performance.now());
      client.on('error', () => undefined);
      if (this.#settings === '') this.#verify(client).catch(() => undefined);
    });
  }

  async connect(): Promise<PostgresPoolClient> {
    for (;;) {
      const client = await this.#open();
      if (this.#openedAt.get(client)! >= this.#trustedSince)
        return new Connection(client, this.#used, this.#settings);
      client.release(true);
    }
  }

  async #open(): Promise<pg.PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      const refused = /^unsupported startup parameter: (\w+)/.exec((error as Error).message)?.[1];
      if (!LIMITS.some((name) => name === refused && this.limits[name] !== undefined)) throw error;
      this.#setInTransactions();
      return this.#pool.connect();
    }
  }

  /** A pooler may take the limits, and not pass them on. */
  async #verify(client: pg.PoolClient): Promise<void> {
    const limits = Object.entries(this.limits);
    if (limits.length === 0) return;
    const [names, values] = [limits.map(([name]) => name), limits.map(([, value]) => value)];
    const { rows } = await client.query<{ differ: boolean }>(
      `select bool_or(extract(epoch from current_setting(name)::interval) * 1000 <> value) as differ
       from unnest($1::text[], $2::int[]) as limits (name, value)`,
      [names, values],
    );
    if (rows[0]!.differ) this.#setInTransactions();
  }

  #setInTransactions(): void {
    for (const name of LIMITS) delete this.#pool.options[name];
    const limits = Object.entries(this.limits);
    this.#settings = limits.map(([name, value]) => `; set local ${name} = ${value}`).join('');
  }

  /** Uses no idle connection again that is open now. */
  distrust(): void {
    this.#trustedSince = performance.now();
  }

  /**
   * Ends the connections that have died without a sign: their answer is late, and the server says that it waits for them. Then
   * the idle ones are not trusted either. A pooler may hide the processes of the server: then none is ended.
   *
   * @param lateMs how long an answer may take before the server is asked, in milliseconds. At least 1,000
   * @param idleOf returns which of these processes of the server wait for a statement
   */
  async endDead(lateMs: number, idleOf: (pids: number[]) => Promise<number[]>): Promise<void> {
    lateMs = Math.max(lateMs, LEAST_LATE_MS);
    const late = [...this.#used].filter(({ silentMs }) => silentMs >= lateMs);
    if (late.length === 0) return;
    const idle = await idleOf(late.map(({ pid }) => pid));
    // Answers that have arrived meanwhile may not have been read.
    await setImmediate();
    for (const connection of late) {
      if (!idle.includes(connection.pid) || connection.silentMs < lateMs) continue;
      this.distrust();
      connection.end();
    }
  }

  end(): Promise<void> {
    return this.#pool.end();
  }
}

/** What begins a transaction, and what ends one. */
const BEGINNING = /^(begin|start transaction)/;
const END = /^(commit|rollback)$/;

/** The beginning of a statement that takes locks until the end of the transaction. It returns nothing that is of use. */
export const LOCKING = 'select pg_advisory_xact_lock(';

/** What Kysely gets for a statement whose answer is not awaited. */
const UNANSWERED: PostgresQueryResult<never> = { command: 'SELECT', rowCount: 0, rows: [] };

/**
 * A connection as long as one user has it.
 *
 * The locks of a transaction are not awaited, and need no round trip of their own: a lock is sent with the statement that follows,
 * and so is the beginning of the transaction if a lock follows. If one of them fails, the statement that follows rejects with that.
 */
class Connection implements PostgresPoolClient {
  #loss: Error | undefined;
  /** The answer to the beginning of the transaction, if there is one. */
  #begun: Promise<unknown> | undefined;
  /** The answers to its beginning and to locks that were not awaited. */
  #earlier: Promise<unknown>[] = [];
  /** How many statements are not answered, and since when there are some. */
  #unanswered = 0;
  #askedAt = Infinity;
  #isInTransaction = false;

  /** @param settings what follows the beginning of each transaction. Then every statement is in one */
  constructor(
    private readonly client: pg.PoolClient,
    private readonly used: Set<Connection>,
    private readonly settings: string,
  ) {
    used.add(this);
  }

  query<R>(sql: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<R>>;
  query(cursor: never): never;
  async query<R>(sql: string, parameters: readonly unknown[] = []): Promise<PostgresQueryResult<R>> {
    if (this.#loss) throw this.#loss;
    if (this.settings !== '' && !this.#isInTransaction && !BEGINNING.test(sql))
      return this.#askAlone(sql, parameters);
    if (sql === 'begin' || (this.#begun && sql.startsWith(LOCKING))) {
      const answer = this.#ask(sql, parameters);
      this.#begun ??= answer;
      this.#earlier.push(answer);
      return UNANSWERED;
    }
    try {
      // It could not be undone if the transaction does not begin. A lock does no harm then.
      await this.#begun;
      const [answer] = await Promise.all([this.#ask(sql, parameters), ...this.#earlier.splice(0)]);
      return answer as unknown as PostgresQueryResult<R>;
    } catch (error) {
      throw this.#failed(error);
    }
  }

  /** A statement that is a transaction with the settings, in one round trip. */
  async #askAlone<R>(sql: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<R>> {
    try {
      const statements = [this.#ask('begin'), this.#ask(sql, parameters), this.#ask('commit')];
      return (await Promise.all(statements))[1] as unknown as PostgresQueryResult<R>;
    } catch (error) {
      throw this.#failed(error);
    }
  }

  #failed(error: unknown): unknown {
    // Only an error of the server is an answer. After a timeout, `pg` would let the next statements wait for the answer
    // that has not come.
    if (!(error instanceof pg.DatabaseError)) this.#loss = error as Error;
    return error;
  }

  #ask(sql: string, parameters: readonly unknown[] = []): Promise<pg.QueryResult> {
    if (this.settings !== '') {
      if (END.test(sql)) this.#isInTransaction = false;
      else if (BEGINNING.test(sql)) {
        this.#isInTransaction = true;
        sql += this.settings;
      }
    }
    if (++this.#unanswered === 1) this.#askedAt = performance.now();
    const answered = () => {
      if (--this.#unanswered === 0) this.#askedAt = Infinity;
    };
    const answer = this.client.query(sql, [...parameters]);
    answer.then(answered, answered);
    return answer;
  }

  release(): void {
    if (this.used.delete(this)) this.client.release(this.#loss);
  }

  get pid(): number {
    return this.#internals.processID;
  }

  get #internals() {
    return this.client as unknown as { processID: number; connection: { stream: Socket } };
  }

  /** For how long the answer to a statement is awaited, in milliseconds; negative if none is. */
  get silentMs(): number {
    return performance.now() - this.#askedAt;
  }

  end(): void {
    this.#loss = new Error('a connection does not answer');
    // `pg` would wait for the answers to what was sent.
    this.#internals.connection.stream.destroy();
    this.release();
  }
}
