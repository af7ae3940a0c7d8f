import { once } from 'node:events';
import http, { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A request on its way to the service. */
export interface PassedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** The head of an answer, and what was asked. */
export interface PassedHead {
  status: number;
  headers: IncomingHttpHeaders;
  request: PassedRequest;
}

/** The pieces of a stream: each ends with a blank line, or is a `retry:` or a keep-alive. */
export type Pieces = AsyncIterable<string>;

/** What a service does wrong: each function changes what passes, or returns something else in its place. */
export interface Wrong {
  request?: (request: PassedRequest) => void;
  /** A request that the service never gets: its answer. */
  instead?: (request: PassedRequest) => { status: number; headers?: IncomingHttpHeaders } | undefined;
  head?: (head: PassedHead) => void;
  /** The head is not sent before the first piece of the stream. */
  isHeadLate?: true;
  stream?: (pieces: Pieces, head: PassedHead) => Pieces;
  /** A body that is no stream. */
  body?: (body: Buffer, head: PassedHead) => Buffer;
}

/** A service with one defect: a proxy before a service without it. */
export class DefectiveService {
  readonly #server = http.createServer((request, response) => {
    this.#pass(request, response).catch(() => response.destroy());
  });

  private constructor(
    private readonly service: string,
    private readonly wrong: Wrong,
  ) {}

  static async before(service: string, wrong: Wrong): Promise<DefectiveService> {
    const defective = new DefectiveService(service, wrong);
    defective.#server.listen(0, '127.0.0.1');
    await once(defective.#server, 'listening');
    return defective;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const passed: PassedRequest = {
      method: request.method!,
      path: request.url!,
      headers: { ...request.headers },
      // Latin-1, so that bytes that are not UTF-8 stay as they are.
      body: (await buffer(request)).toString('latin1'),
    };
    const instead = this.wrong.instead?.(passed);
    if (instead) return void response.writeHead(instead.status, instead.headers).end();
    this.wrong.request?.(passed);
    const answer = await send(this.service, passed, response);
    const head = { status: answer.statusCode!, headers: { ...answer.headers }, request: passed };
    for (const name of ['connection', 'keep-alive', 'transfer-encoding']) delete head.headers[name];
    const isStream = /event-stream/.test(head.headers['content-type'] ?? '');
    this.wrong.head?.(head);
    if (isStream) await this.#passStream(answer, head, response);
    else await this.#passBody(answer, head, response);
  }

  async #passBody(answer: IncomingMessage, head: PassedHead, response: ServerResponse): Promise<void> {
    const body = await buffer(answer);
    const changed = this.wrong.body?.(body, head) ?? body;
    if ('content-length' in head.headers) head.headers['content-length'] = `${changed.length}`;
    response.writeHead(head.status, head.headers).end(changed);
  }

  async #passStream(answer: IncomingMessage, head: PassedHead, response: ServerResponse): Promise<void> {
    response.writeHead(head.status, head.headers);
    if (!this.wrong.isHeadLate) response.flushHeaders();
    const pieces = piecesOf(answer);
    for await (const piece of this.wrong.stream?.(pieces, head) ?? pieces)
      if (piece !== '' && !response.write(piece)) await once(response, 'drain');
    response.end();
  }
}

/** Sends a request to the service; it is cut when the caller leaves. */
async function send(
  service: string,
  passed: PassedRequest,
  response: ServerResponse,
): Promise<IncomingMessage> {
  const { method, path, headers } = passed;
  const body = Buffer.from(passed.body, 'latin1');
  if (headers['content-length'] !== undefined) headers['content-length'] = `${body.length}`;
  const request = http.request(service + path, { method, headers, agent: false });
  response.on('close', () => request.destroy());
  request.end(body);
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  return answer;
}

async function* piecesOf(answer: IncomingMessage): Pieces {
  let left = '';
  for await (const text of answer.setEncoding('utf8')) {
    left += text as string;
    for (;;) {
      const [piece] = /^(?:\n\n|:\n|retry: \d+\n|[^]*?\n\n)/.exec(left) ?? [];
      if (piece === undefined) break;
      yield piece;
      left = left.slice(piece.length);
    }
  }
}
