import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { freePort } from './free-port.mjs';

/** A request that the service of a test got. */
export interface RemoteCall {
  method: string;
  path: string;
  headers: http.IncomingHttpHeaders;
  body: string;
}

type Answer = (response: http.ServerResponse, call: RemoteCall) => void | Promise<void>;

/** An HTTP service of which the test decides how it answers each request. */
export class RemoteServer {
  readonly calls: RemoteCall[] = [];
  readonly #server: http.Server;
  #answers: Answer[] = [];

  private constructor() {
    this.#server = http.createServer((request, response) => void this.#answer(request, response));
  }

  static async start(port?: number): Promise<RemoteServer> {
    const service = new RemoteServer();
    const chosen = port ?? (await freePort());
    await new Promise<void>((resolve) => service.#server.listen(chosen, '127.0.0.1', resolve));
    return service;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The methods and paths of the requests so far. */
  get requests(): string[] {
    return this.calls.map(({ method, path }) => `${method} ${path}`);
  }

  /** The next requests get these answers, the last one all further requests too. */
  answers(...answers: Answer[]): void {
    this.#answers = answers;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const { method, url, headers } = request;
    const call = { method: method!, path: url!, headers, body: await text(request).catch(() => '') };
    this.calls.push(call);
    const [answer] = this.#answers.length > 1 ? this.#answers.splice(0, 1) : this.#answers;
    await answer!(response, call);
  }
}

/** The events of the full profile, from a number on. */
export function fullEvents(run: string, first: number, ...envelopes: unknown[]): string {
  return envelopes
    .map((envelope, index) => `id: ${run}.${first + index}\ndata: ${JSON.stringify(envelope)}\n\n`)
    .join('');
}

/** A stream; `end` says whether it ends in order, is cut, or stays open. */
export function stream(body: string | Uint8Array, end: 'end' | 'cut' | 'open' = 'end', run?: string): Answer {
  return (response) => {
    response.writeHead(200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      ...(run !== undefined && { 'Content-Location': `/query/${run}` }),
    });
    response.flushHeaders();
    if (end === 'end') response.end(body);
    else response.write(body, () => end === 'cut' && response.destroy());
  };
}

/** A problem as this service sends it. */
export function problem(
  status: number,
  code: string,
  detail = 'Why.',
  headers: http.OutgoingHttpHeaders = {},
): Answer {
  return (response) => {
    response.writeHead(status, { 'Content-Type': 'application/problem+json', ...headers });
    response.end(JSON.stringify({ type: 'about:blank', title: 'Title', status, detail, code }));
  };
}

/** A refusal whose text begins so, and never ends. */
export function endlessRefusal(status: number, beginning: string) {
  return async (response: http.ServerResponse): Promise<void> => {
    response.writeHead(status, { 'Content-Type': 'text/plain' }).write(beginning);
    const bytes = Buffer.alloc(64 * 1024, 'x');
    const forever = Readable.from(
      (function* () {
        for (;;) yield bytes;
      })(),
    );
    // It ends when the other side closes the connection.
    await pipeline(forever, response).catch(() => undefined);
  };
}

/** The service switches the protocol, and says nothing more. */
export function switchedProtocol({ socket }: http.ServerResponse): void {
  socket!.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n');
}

/** The connection is closed without an answer. */
export function noAnswer(response: http.ServerResponse): void {
  response.destroy();
}
