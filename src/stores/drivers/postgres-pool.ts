import { Logger } from '@nestjs/common';
import type { PostgresPool as KyselyPool, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import pg from 'pg';

/** The connections of `pg` for Kysely. One that is lost neither ends the process nor is used again. */
export class PostgresPool implements KyselyPool {
  constructor(private readonly pool: pg.Pool) {
    // An idle connection was lost. If the server is really unavailable, the next statement reports that.
    pool.on('error', (error) => Logger.debug(error.message, 'Postgres'));
    // A connection may also be lost between two statements of a transaction, when the pool does not listen. Without a
    // listener the event would end the process. The next statement reports the loss.
    pool.on('connect', (client) => client.on('error', () => undefined));
  }

  async connect(): Promise<PostgresPoolClient> {
    return new Connection(await this.pool.connect());
  }

  end(): Promise<void> {
    return this.pool.end();
  }
}

/** A connection as long as one user has it. */
class Connection implements PostgresPoolClient {
  /** Why the connection cannot be used any more. */
  #loss: Error | undefined;

  constructor(private readonly client: pg.PoolClient) {}

  query<R>(sql: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<R>>;
  query(cursor: never): never;
  async query<R>(sql: string, parameters?: readonly unknown[]): Promise<PostgresQueryResult<R>> {
    if (this.#loss) throw this.#loss;
    try {
      return (await this.client.query(sql, [...parameters!])) as unknown as PostgresQueryResult<R>;
    } catch (error) {
      // Only an error of the server is an answer. After a timeout, `pg` would let the next statements wait for the answer
      // that has not come.
      if (!(error instanceof pg.DatabaseError)) this.#loss = error as Error;
      throw error;
    }
  }

  release(): void {
    this.client.release(this.#loss);
  }
}
