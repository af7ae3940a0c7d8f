import type { Logger } from '@nestjs/common';
import { AgentHandler, type Envelope, loggerOf, type Query, type QueryContext } from '../../query/index.js';
import { type RemoteOptions, remoteSettings } from './remote-options.js';
import { RemoteRun } from './remote-run.js';
import { RemoteService } from './remote-service.js';

/** A remote run is resumed, not executed again. So the limit is only for runs that never end. */
const RESTARTS = 1_000;

/** Passes queries on to a remote service, and its answers back. */
class RemoteHandler extends AgentHandler {
  override readonly restarts = RESTARTS;
  readonly #service: RemoteService;
  readonly #logger: Logger;

  constructor(options: RemoteOptions) {
    super();
    this.#logger = loggerOf('RemoteAgent', options.name);
    this.#service = new RemoteService(remoteSettings(options, 'remoteHandler'));
  }

  override handle(query: Query, context: QueryContext): AsyncIterable<Envelope> {
    return new RemoteRun(this.#service, query, context, this.#logger).envelopes();
  }

  /** Called by Nest once all runs have ended. */
  onApplicationShutdown(): void {
    this.#service.close();
  }
}

/**
 * Makes a handler that asks another service, which answers `POST {url}/query` with a stream of envelopes.
 *
 * If the remote service keeps runs as this one does, a cut between the two is resumed, a cancelled run is cancelled there too,
 * and a run continues after a restart of this process. Otherwise a stream that ends without `done` is complete.
 *
 * @param options where the remote service is
 * @throws {TypeError} an option is not valid
 *
 * @example
 * QueryModule.forRoot({
 *   handler: remoteHandler({ url: 'http://agent.internal:8000', headers: { 'X-Api-Key': key } }),
 * });
 */
export function remoteHandler(options: RemoteOptions): AgentHandler {
  return new RemoteHandler(options);
}
