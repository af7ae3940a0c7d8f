import type { IQueueBackend, JobsOptions } from 'bullmq';

/** The token of the lock on a job. Any text is good, because a connection has one job at a time. */
const TOKEN = 'dispatcher';

/** BullMQ records events in the queue. Nobody reads them, and it cannot be turned off. */
export const QUEUE_OPTIONS = { streams: { events: { maxLen: 100 } } };

/**
 * A job is held for some milliseconds. If its process dies then, another one gets it after `lockDuration` and two rounds of
 * `stalledInterval` (milliseconds). One wait for a job takes `drainDelay` seconds at most.
 */
export const WORKER_OPTIONS = { lockDuration: 2_000, stalledInterval: 5_000, drainDelay: 5 };

/** What is used of `Queue` of BullMQ, on any server. */
export interface JobQueue {
  waitUntilReady(): Promise<unknown>;
  add(name: string, data: object, options: JobsOptions): Promise<unknown>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  close(): Promise<void>;
}

/** What is used of `Worker` of BullMQ, on any server. */
export interface JobWorker {
  waitUntilReady(): Promise<unknown>;
  startStalledCheckTimer(): Promise<void>;
  getNextJob(token: string): Promise<FetchedJob | undefined>;
  getBackend(): IQueueBackend;
  on(event: 'error', listener: (error: Error) => void): unknown;
  close(force: boolean): Promise<void>;
}

interface FetchedJob {
  moveToCompleted(value: unknown, token: string, fetchNext: boolean): Promise<unknown>;
}

/** Creates a connection to a queue. */
export type Connect = (fail: (error: Error) => void) => QueueConnection;

/**
 * One connection to a queue of BullMQ. It is used until its first error.
 *
 * The jobs are fetched one by one (https://docs.bullmq.io/patterns/manually-fetching-jobs), and not by a processor, because a
 * process without a free slot must leave them to the others.
 */
export class QueueConnection {
  #queue: JobQueue | undefined;
  #worker: JobWorker | undefined;

  /**
   * @param createQueue creates a queue of BullMQ, which connects at once
   * @param createWorker creates a worker of BullMQ without a processor
   * @param fail called with each error that no method throws
   */
  constructor(
    private readonly createQueue: () => JobQueue,
    private readonly createWorker: () => JobWorker,
    private readonly fail: (error: Error) => void,
  ) {}

  /** Resolves when the queue can be used. */
  async open(): Promise<void> {
    this.#queue = this.createQueue();
    this.#queue.on('error', this.fail);
    await this.#queue.waitUntilReady();
  }

  /** Adds a job, unless there is one with this id. */
  async add(jobId: string): Promise<void> {
    await this.#queue!.add('ready', {}, { jobId, removeOnComplete: true, removeOnFail: true });
  }

  /** Waits some seconds for a job, and removes it. Returns whether there was one. */
  async next(): Promise<boolean> {
    const worker = (this.#worker ??= this.#startWorker());
    await this.beforeWait(worker);
    const job = await worker.getNextJob(TOKEN);
    await job?.moveToCompleted(null, TOKEN, false);
    return job !== undefined;
  }

  /** Ends a wait for a job. */
  async interrupt(): Promise<void> {
    await this.#worker?.getBackend().disconnectBlocking();
  }

  async close(): Promise<void> {
    await this.#worker?.close(true);
    await this.#queue?.close();
  }

  protected async beforeWait(worker: JobWorker): Promise<void> {
    await worker.waitUntilReady();
  }

  #startWorker(): JobWorker {
    const worker = this.createWorker();
    worker.on('error', this.fail);
    void worker.startStalledCheckTimer();
    return worker;
  }
}
