import { createPostgresBackend, type PgPool, Queue, runMigrations, Worker } from 'bullmq';
import pg from 'pg';
import {
  type Connect,
  type JobQueue,
  type JobWorker,
  QUEUE_OPTIONS,
  QueueConnection,
  WORKER_OPTIONS,
} from './queue-connection.js';

/** The connections of a process: one waits for jobs, the others execute statements. */
const POOL_SIZE = 3;

/** The longest wait for a connection and for the answer to a statement, in milliseconds. */
const ANSWER_MS = 5_000;

/** The schema of BullMQ. */
const SCHEMA = 'bullmq';

/** What is wrong with a pooler that refuses what connections begin with, or drops it. */
const POOLER =
  'a pooler takes no search_path with a connection, and BullMQ needs it. Let QUEUE_URL name the Postgres server itself';

/** The queue of a name on a Postgres server. */
export function connectTo(server: URL, name: string): Connect {
  return (fail) => {
    // A pool, because BullMQ cannot load `pg` in every environment. BullMQ uses its schema only with a pool of its own.
    const pool = new pg.Pool({
      connectionString: server.href,
      application_name: 'nest-agent-query',
      options: `-c search_path=${SCHEMA}`,
      max: POOL_SIZE,
      connectionTimeoutMillis: ANSWER_MS,
      query_timeout: ANSWER_MS,
      keepAlive: true,
    });
    pool.on('error', fail);
    // A connection may be lost while BullMQ has it and does not listen. Without a listener, that would end the process.
    pool.on('connect', (client) => client.on('error', fail));
    // The types differ in how a parameter list is declared.
    const connection = pool as unknown as PgPool;
    const createQueue = () => new Queue(name, { connection, ...QUEUE_OPTIONS }, createPostgresBackend);
    const createWorker = () =>
      new Worker(name, null, { connection, ...WORKER_OPTIONS }, createPostgresBackend);
    return new PostgresQueueConnection(createQueue, createWorker, fail, pool);
  };
}

class PostgresQueueConnection extends QueueConnection {
  constructor(
    createQueue: () => JobQueue,
    createWorker: () => JobWorker,
    fail: (error: Error) => void,
    private readonly pool: pg.Pool,
  ) {
    super(createQueue, createWorker, fail);
  }

  /** Creates BullMQ's tables, or brings them to its version. */
  override async open(): Promise<void> {
    const client = await this.pool.connect().catch((error: Error) => {
      if (/^unsupported startup parameter: options/.test(error.message)) throw new Error(POOLER);
      throw error;
    });
    try {
      const { rows } = await client.query<{ search_path: string }>('show search_path');
      if (rows[0]!.search_path !== SCHEMA) throw new Error(POOLER);
      await runMigrations(client);
    } finally {
      client.release();
    }
    await super.open();
  }

  override async close(): Promise<void> {
    await super.close();
    await this.pool.end();
  }

  protected override async beforeWait(worker: JobWorker): Promise<void> {
    await super.beforeWait(worker);
    // BullMQ executes LISTEN again: only a statement shows whether the connection still exists.
    await worker.getBackend().reconnectBlocking();
  }
}
