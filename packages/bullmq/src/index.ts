/** Dispatches runs through a queue, published as `nest-agent-query-bullmq`: BullMQ on Postgres or Redis. */
export { DEFAULT_QUEUE_NAME, type DispatcherOptions, openDispatcher } from './open-dispatcher.js';
