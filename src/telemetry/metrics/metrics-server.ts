import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { Metrics } from './metrics.js';
import { stackForLog } from '../../query/index.js';

/** How long a client may take to send the head of a request, in milliseconds. */
const HEAD_MS = 10_000;

/**
 * Shows the metrics on a port of its own, until everything else has stopped. It answers nothing else. `MetricsModule` makes it
 * with the option `port`.
 *
 * @example
 * const { url } = app.get(MetricsServer, { strict: false });
 */
export class MetricsServer implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #logger = new Logger('Metrics');
  readonly #server: Server;

  /**
   * @param metrics what it shows
   * @param path where it shows them, with a `/` at the beginning
   * @param port where it listens; 0 takes a free one
   * @param host the address to listen on
   */
  constructor(
    private readonly metrics: Metrics,
    private readonly path: string,
    private readonly port: number,
    private readonly host: string,
  ) {
    this.#server = createServer({ headersTimeout: HEAD_MS, requestTimeout: HEAD_MS }, (request, response) => {
      this.#answer(request, response).catch((error: Error) => {
        this.#logger.error('The metrics could not be shown.', stackForLog(error));
        response.destroy();
      });
    });
  }

  /** Where it listens, once the application has started. */
  get url(): string {
    const { address, port, family } = this.#server.address() as AddressInfo;
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}${this.path}`;
  }

  /** @throws the error of the system if it cannot listen */
  async onApplicationBootstrap(): Promise<void> {
    this.#server.listen(this.port, this.host);
    await once(this.#server, 'listening');
  }

  async onApplicationShutdown(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer({ method, url = '' }: IncomingMessage, response: ServerResponse): Promise<void> {
    const isRead = method === 'GET' || method === 'HEAD';
    if (!isRead || url.split('?', 1)[0] !== this.path) {
      response.writeHead(404, { 'Content-Length': 0, Connection: 'close' }).end();
      return;
    }
    const text = await this.metrics.text();
    response.writeHead(200, {
      'Content-Type': this.metrics.contentType,
      'Content-Length': Buffer.byteLength(text),
      'Cache-Control': 'no-store',
    });
    response.end(method === 'HEAD' ? undefined : text);
  }
}
