import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { Dispatcher, type DispatchReceiver } from 'nest-agent-query';
import { jittered, settlesWithin, textForLog } from 'nest-agent-query/agents';
import type { Connect, QueueConnection } from './queue-connection.js';

/** The pause before a connection is opened again: doubled each time, from `least` to `most`. Milliseconds. */
const BACKOFF = { least: 100, most: 5_000 };

/** How long the last offers may take when the process shuts down, and the connection to close, in milliseconds. */
const CLOSE_MS = 1_000;

/**
 * Dispatches through a queue: one process is told that a run waits, instead of all.
 *
 * A job means: runs wait, and some process had no slot for them. The process that gets the job removes it, and takes as many
 * runs as it has free slots. If more may wait, it adds a job of its own for the next process. A process without a free slot
 * leaves the jobs to the others.
 *
 * A process has one job in the queue at most. A job per run would stay in the queue when its run starts in a slot that became
 * free: under permanent load, the queue would grow without bound. The job is removed before the runs are taken. So a run that
 * is offered while the job of its process is there is seen by the process that has removed the job.
 *
 * An error closes the connection, and another one is opened. Until then nothing is dispatched, and the processes find the
 * runs that wait when they look by themselves.
 */
export class QueueDispatcher extends Dispatcher {
  readonly #logger = new Logger('Queue');
  /** Identifies the job of this process. */
  readonly #jobId = randomUUID();
  #connection: QueueConnection | undefined;
  #receiver: DispatchReceiver | undefined;
  #isOffered = false;
  #opening: Promise<void>;
  #offering: Promise<void> | undefined;
  #fetching: Promise<void> | undefined;
  #isFailing = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;
  #backoffMs = BACKOFF.least;

  constructor(private readonly connect: Connect) {
    super();
    this.#opening = this.#open();
  }

  offer(): void {
    this.#isOffered = true;
    this.#addOffered();
  }

  receive(receiver: DispatchReceiver): void {
    this.#receiver = receiver;
    if (this.#connection) void this.#fetchAll(this.#connection);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await settlesWithin(CLOSE_MS, this.#settle());
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection) await settlesWithin(CLOSE_MS, close(connection));
  }

  /** Ends the wait for jobs. A job that was fetched by then is passed on. */
  async #settle(): Promise<void> {
    await this.#opening;
    await this.#connection?.interrupt().catch(() => undefined);
    await this.#fetching;
    await this.#offering;
  }

  /** Never rejects: without a connection, it tries again later. */
  async #open(): Promise<void> {
    const connection = this.connect((error) => this.#lose(connection, error));
    try {
      await connection.open();
    } catch (error) {
      await close(connection);
      return this.#retry(error as Error);
    }
    if (this.#isClosed) return close(connection);
    this.#connection = connection;
    this.#backoffMs = BACKOFF.least;
    if (this.#isFailing) this.#logger.log('The queue can be used again.');
    this.#isFailing = false;
    this.#addOffered();
    if (this.#receiver) void this.#fetchAll(connection);
  }

  #lose(connection: QueueConnection, error: Error): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    void close(connection);
    this.#retry(error);
  }

  #retry({ message }: Error): void {
    if (this.#isClosed) return;
    if (!this.#isFailing)
      this.#logger.warn(
        `The queue cannot be used: ${textForLog(message)}. Runs that wait start up to 2 s later until then.`,
      );
    this.#isFailing = true;
    this.#timer = setTimeout(() => {
      this.#opening = this.#open();
    }, jittered(this.#backoffMs)).unref();
    this.#backoffMs = Math.min(2 * this.#backoffMs, BACKOFF.most);
  }

  /** Adds a job if there was an offer since the last one was added. */
  #addOffered(): void {
    const connection = this.#connection;
    if (!this.#isOffered || !connection || this.#offering) return;
    this.#isOffered = false;
    this.#offering = connection.add(this.#jobId).then(
      () => {
        this.#offering = undefined;
        this.#addOffered();
      },
      (error: Error) => {
        this.#offering = undefined;
        this.#isOffered = true;
        this.#lose(connection, error);
      },
    );
  }

  /** Fetches jobs as long as the connection can be used. */
  async #fetchAll(connection: QueueConnection): Promise<void> {
    while (this.#connection === connection && !this.#isClosed) {
      await this.#receiver!.freeSlot();
      if (this.#connection !== connection || this.#isClosed) return;
      await (this.#fetching = this.#fetch(connection));
    }
  }

  async #fetch(connection: QueueConnection): Promise<void> {
    try {
      if ((await connection.next()) && (await this.#receiver!.take())) this.offer();
    } catch (error) {
      this.#lose(connection, error as Error);
    }
  }
}

/** Closes a connection that may be lost. */
async function close(connection: QueueConnection): Promise<void> {
  await connection.close().catch(() => undefined);
}
