import type { Dispatcher } from 'nest-agent-query';
import { refuseUnknown } from 'nest-agent-query/agents';

/**
 * The name of the queue, if none is given.
 *
 * @example
 * await openDispatcher(url, { name: `${DEFAULT_QUEUE_NAME}-reports` });
 */
export const DEFAULT_QUEUE_NAME = 'agent-query';

/**
 * The options of `openDispatcher`.
 *
 * @example
 * await openDispatcher('redis://host:6379', { name: 'reports' })
 */
export interface DispatcherOptions {
  /**
   * The name of the queue. Services that share a server need different names. `?queue=` in the URL takes precedence.
   * Default `DEFAULT_QUEUE_NAME`.
   */
  name?: string | undefined;
  /** Follows the name, and a `-`: each of several modules that share a store needs a queue of its own. Default: none. */
  suffix?: string | undefined;
}

/**
 * Opens the queue that a URL names, for the option `dispatcher` of `QueryModule`. The module closes it.
 *
 * | URL | server |
 * |---|---|
 * | `postgres://user:password@host:5432/database` | Postgres; the tables are in the schema `bullmq` |
 * | `redis://user:password@host:6379/0`, `rediss://…` | Redis |
 *
 * The server need not be reachable: the service works without the queue, and runs that wait then start up to 2 s later.
 *
 * @param url one of the forms above
 * @param options everything has a default
 * @throws {TypeError} an option is unknown · Error with a sentence for the operator: the URL has another form. No message contains a password
 *
 * @example
 * QueryModule.forRootAsync({
 *   useFactory: async () => ({
 *     handler: MyHandler,
 *     store: await openStore('postgres://user@host/database'),
 *     dispatcher: await openDispatcher('postgres://user@host/database'),
 *   }),
 * })
 */
export async function openDispatcher(url: string, options: DispatcherOptions = {}): Promise<Dispatcher> {
  refuseUnknown('openDispatcher', options, { name: true, suffix: true });
  const isPostgres = /^postgres(ql)?:\/\//.test(url);
  if (!isPostgres && !/^rediss?:\/\//.test(url)) {
    // Not the URL itself: it may contain a password.
    throw new Error('The queue URL must be postgres://<user>@<host>/<database> or redis://<host>.');
  }
  const server = new URL(url);
  const named = server.searchParams.get('queue') ?? options.name ?? DEFAULT_QUEUE_NAME;
  const name = options.suffix === undefined ? named : `${named}-${options.suffix}`;
  if (name === '' || name.includes(':')) throw new Error('The name of a queue must be a text without ":".');
  server.searchParams.delete('queue');
  // Loaded only for the server that is used.
  const { connectTo } = isPostgres ? await import('./postgres-queue.js') : await import('./redis-queue.js');
  const { QueueDispatcher } = await import('./queue-dispatcher.js');
  return new QueueDispatcher(connectTo(server, name));
}
