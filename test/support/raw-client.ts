import { once } from 'node:events';
import http from 'node:http';
import { deferred } from './conditions.js';

/** What a request asks for besides its body. */
export interface Asking {
  method?: string;
  path?: string;
  headers?: http.OutgoingHttpHeaders;
  agent?: http.Agent;
}

/** A body: all of it, or the stretches in which it leaves. */
export type Body = string | Uint8Array | AsyncIterable<Uint8Array | string>;

/** A response as its bytes arrive, on a connection of its own. */
export class Answer {
  /** Resolves at the end of the response, or when its connection is gone. */
  readonly ended: Promise<void>;
  #received: Buffer[] = [];
  #news = deferred();

  constructor(private readonly response: http.IncomingMessage) {
    response.on('data', (chunk: Buffer) => {
      this.#received.push(chunk);
      this.#tell();
    });
    // A connection that is cut is an error of the response; the spec sees `complete`.
    response.on('error', () => undefined);
    this.ended = new Promise<void>((resolve) => response.once('close', resolve)).then(() => this.#tell());
  }

  get status(): number {
    return this.response.statusCode!;
  }

  get headers(): http.IncomingHttpHeaders {
    return this.response.headers;
  }

  /** Whether the response ended as HTTP says that it does. */
  get complete(): boolean {
    return this.response.complete;
  }

  /** What has come so far. */
  get bytes(): Buffer {
    return Buffer.concat(this.#received);
  }

  get text(): string {
    return this.bytes.toString();
  }

  /** Waits until what has come fulfils a condition; the test's own time limit ends a wait in vain. */
  async until(condition: (text: string) => boolean): Promise<string> {
    while (!condition(this.text)) {
      if (this.response.closed) throw new Error(`The response ended with: ${this.text}`);
      await this.#news.promise;
    }
    return this.text;
  }

  /** The whole body. */
  async whole(): Promise<string> {
    if (!this.response.closed) await this.ended;
    return this.text;
  }

  /** Leaves in the middle. */
  leave(): void {
    this.response.destroy();
  }

  #tell(): void {
    const news = this.#news;
    this.#news = deferred();
    news.resolve();
  }
}

/** Sends a request; resolves when the headers of its response have come. */
export async function request(url: string, asking: Asking = {}, body: Body = ''): Promise<Answer> {
  const { method = 'POST', path = '/query', headers, agent = false } = asking;
  const sent = http.request(`${url}${path}`, {
    method,
    agent: agent,
    headers: { ...(method === 'POST' && { 'content-type': 'application/json' }), ...headers },
  });
  const answered = once(sent, 'response') as Promise<[http.IncomingMessage]>;
  sent.on('error', () => undefined);
  if (typeof body === 'string' || body instanceof Uint8Array) sent.end(body);
  else send(sent, body).catch(() => undefined);
  const [response] = await answered;
  return new Answer(response);
}

/** Sends a query that is one text. */
export function ask(url: string, text = 'Hello', asking: Asking = {}): Promise<Answer> {
  return request(url, asking, JSON.stringify({ parts: [{ type: 'text', text }] }));
}

async function send(sent: http.ClientRequest, body: AsyncIterable<Uint8Array | string>): Promise<void> {
  let answered = false;
  sent.once('response', () => (answered = true));
  for await (const stretch of body) {
    if (answered || sent.destroyed) break;
    if (!sent.write(stretch))
      await Promise.race([once(sent, 'drain'), once(sent, 'close'), once(sent, 'response')]);
  }
  sent.end();
}
