import { Queue, Worker } from 'bullmq';
import { type Connect, QUEUE_OPTIONS, QueueConnection, WORKER_OPTIONS } from './queue-connection.js';

/** The longest wait for a connection, in milliseconds. */
const ANSWER_MS = 5_000;

/** The queue of a name on a Redis server. */
export function connectTo(server: URL, name: string): Connect {
  const connection = {
    url: server.href,
    connectTimeout: ANSWER_MS,
    // BullMQ requires null.
    maxRetriesPerRequest: null,
    // A connection that is lost is not opened again: the dispatcher opens another one.
    retryStrategy: () => null,
  };
  return (fail) => {
    const createQueue = () => new Queue(name, { connection, ...QUEUE_OPTIONS });
    const createWorker = () => new Worker(name, null, { connection, ...WORKER_OPTIONS });
    return new QueueConnection(createQueue, createWorker, fail);
  };
}
