import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  AgentQueryClient,
  type AgentQueryClientOptions,
  type AgentQueryError,
} from '../../packages/client/src/index.js';

export type Respond = (request: http.IncomingMessage, response: http.ServerResponse) => void;

/** Answers with the head of a stream and these bytes. The response stays open, unless it is cut or has `done`. */
export const stream =
  (bytes: string, { isCut = false } = {}): Respond =>
  (_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Content-Location': '/query/r' });
    response.write(bytes, () => isCut && response.destroy());
    if (bytes.includes('"done"')) response.end();
  };

/** The bytes of an event of the run `r`. */
export const event = (seq: number, type: string, data: unknown): string =>
  `id: r.${seq}\ndata: ${JSON.stringify({ type, data })}\n\n`;

/** The data of the last event of a run that was completed. */
export const DONE = { status: 'completed' };

/** Why an answer failed. */
export function failureOf(answer: { text(): Promise<string> }): Promise<AgentQueryError> {
  return answer.text().then(
    () => Promise.reject(new Error('It did not fail.')),
    (error: unknown) => error as AgentQueryError,
  );
}

/** `fetch` may still hold a connection to a port that was just closed: a new service at this port would not get its request. */
const usedPorts = new Set<number>();

/** A service that answers with literal bytes. */
export class LiteralService {
  /** The requests: method, path and cursor. */
  readonly requests: [string, string, string?][] = [];
  readonly #server: http.Server;

  private constructor(responds: Respond[]) {
    this.#server = http.createServer((request, response) => {
      const { method, url, headers } = request;
      const cursor = headers['last-event-id'] as string | undefined;
      this.requests.push(cursor === undefined ? [method!, url!] : [method!, url!, cursor]);
      responds[Math.min(this.requests.length, responds.length) - 1]!(request, response);
    });
  }

  /** @param responds each request is answered by the next function, and by the last one from then on */
  static async start(responds: Respond[]): Promise<LiteralService> {
    const service = new LiteralService(responds);
    service.#server.listen(0, '127.0.0.1');
    await once(service.#server, 'listening');
    if (!usedPorts.has(service.#port)) {
      usedPorts.add(service.#port);
      return service;
    }
    const another = await LiteralService.start(responds);
    await service.stop();
    return another;
  }

  get #port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/`;
  }

  client(options: AgentQueryClientOptions = {}): AgentQueryClient {
    return new AgentQueryClient({ baseUrl: this.url, ...options });
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
