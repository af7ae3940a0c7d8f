import type { Socket } from 'node:net';
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

/** Opens a pool of `pg`. The server need not be reachable. */
export function openPool(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(config);
  // An idle connection was lost. If the server is really unavailable, the next statement reports that.
  pool.on('error', (error) => Logger.debug(textForLog(error.message), 'Postgres'));
  return pool;
}

/** The connections of a pool for Kysely. One that is lost neither ends the process nor is used again. */
export class PostgresConnections implements PostgresPool {
  readonly #pool: pg.Pool;
  readonly #openedAt = new WeakMap<pg.PoolClient, number>();
  readonly #used = new Set<Connection>();
  #trustedSince = 0;

  constructor(config: pg.PoolConfig) {
    this.#pool = openPool({ ...config, pipeline: true });
    // A connection may be lost between two statements of a transaction, when the pool does not listen. Without a
    // listener the event would end the process. The next statement reports the loss.
    this.#pool.on('connect', (client) => {
      this.#openedAt.set(client, performance.now());
      client.on('error', () => undefined);
    });
  }

  async connect(): Promise<PostgresPoolClient> {
    for (;;) {
      const client = await this.#pool.connect();
      if (this.#openedAt.get(client)! >= this.#trustedSince) return new Connection(client, this.#used);
      client.release(true);
    }
  }

  /** Uses no idle connection again that is open now. */
  distrust(): void {
    this.#trustedSince = performance.now();
  }

  /**
   * Ends the connections that have died without a sign: their answer is late, and the server says that it waits for them. Then
   * the idle ones are not trusted either. A pooler may hide the processes of the server: then none is ended.
   *
   * @param lateMs how long an answer may take before the server is asked, in milliseconds
   * @param idleOf returns which of these processes of the server wait for a statement
   */
  async endDead(lateMs: number, idleOf: (pids: number[]) => Promise<number[]>): Promise<void> {
    const late = [...this.#used].filter(({ silentMs }) => silentMs >= lateMs);
    if (late.length === 0) return;
    const idle = await idleOf(late.map(({ pid }) => pid));
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

  constructor(
    private readonly client: pg.PoolClient,
    private readonly used: Set<Connection>,
  ) {
    used.add(this);
  }

  query<R>(sql: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<R>>;
  query(cursor: never): never;
  async query<R>(sql: string, parameters: readonly unknown[] = []): Promise<PostgresQueryResult<R>> {
    if (this.#loss) throw this.#loss;
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
      // Only an error of the server is an answer. After a timeout, `pg` would let the next statements wait for the answer
      // that has not come.
      if (!(error instanceof pg.DatabaseError)) this.#loss = error as Error;
      throw error;
    }
  }

  #ask(sql: string, parameters: readonly unknown[]): Promise<pg.QueryResult> {
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
