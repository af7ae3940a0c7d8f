import { once } from 'node:events';
import http from 'node:http';
import { createParser } from 'eventsource-parser';
import type { Envelope } from '../../src/index.js';
import { deferred } from './conditions.js';

/** The header that asks for the full profile. */
export const FULL = { accept: 'text/event-stream' };

/** What a request has besides its body. */
export interface RequestOptions {
  /** Default `POST`. */
  method?: string;
  /** Default `/query`. */
  path?: string;
  /** A POST has `Content-Type: application/json` unless these name another. */
  headers?: http.OutgoingHttpHeaders;
  /** Default: none, so that the request has a connection of its own. */
  agent?: http.Agent;
  /** Whether the client reads nothing of the body until the test asks for it. Default false. */
  isStalled?: boolean;
}

/** A body: all of it, or the pieces in which it is sent. */
export type Body = string | Uint8Array | AsyncIterable<Uint8Array | string>;

/** An event as a standard parser reads it. */
export interface ReadEvent {
  id: string | undefined;
  data: string;
}

/** A response as its bytes arrive. */
export class Reply {
  readonly #received: Buffer[] = [];
  #length = 0;
  #isReading = false;
  #news = deferred();

  constructor(private readonly response: http.IncomingMessage) {
    // A connection that was cut is an error of the response; `whole` reports it.
    response.on('error', () => undefined);
    response.once('close', () => this.#tell());
  }

  get status(): number {
    return this.response.statusCode!;
  }

  get headers(): http.IncomingHttpHeaders {
    return this.response.headers;
  }

  /** The id of the run that the response follows. */
  get runId(): string {
    return this.headers['content-location']!.split('/').at(-1)!;
  }

  /** What has arrived so far. */
  get bytes(): Buffer {
    return Buffer.concat(this.#received);
  }

  get text(): string {
    return this.bytes.toString();
  }

  /** The events that have arrived whole so far. */
  get events(): ReadEvent[] {
    return eventsOf(this.bytes);
  }

  /** Waits until the text that has arrived contains a string or fulfils a condition, and returns all of it. */
  async until(condition: string | ((text: string) => boolean)): Promise<string> {
    const holds = typeof condition === 'string' ? (text: string) => text.includes(condition) : condition;
    await this.#untilRead(() => holds(this.text));
    if (!holds(this.text)) throw new Error(`The response ended with: ${this.text}`);
    return this.text;
  }

  /** Waits for the end of the response and returns its body; rejects where the connection was cut before. */
  async whole(): Promise<string> {
    await this.#untilRead(() => false);
    if (!this.response.complete) throw new Error(`The response was cut after: ${this.text.slice(-200)}`);
    return this.text;
  }

  async json<T = Record<string, unknown>>(): Promise<T> {
    return JSON.parse(await this.whole()) as T;
  }

  /** Waits for the end of the stream and returns its events. */
  async allEvents(): Promise<ReadEvent[]> {
    await this.whole();
    return this.events;
  }

  /** Waits for the end of the stream and returns its envelopes. */
  async allEnvelopes(): Promise<Envelope[]> {
    return envelopesOf(await this.whole());
  }

  /** Waits for the end of the stream; returns the joined contents of its messages, and the data of each `done`. */
  async answer(): Promise<{ text: string; done: unknown[] }> {
    return answerOf(await this.whole());
  }

  /** Waits until so many bytes have arrived or the stream has ended, cuts the connection, and returns those bytes. */
  async cutAfter(count: number): Promise<Buffer> {
    await this.#untilRead(() => this.#length >= count);
    this.cut();
    return this.bytes.subarray(0, count);
  }

  /** The rest of the body of a stalled client, chunk by chunk; nothing of it is kept. */
  async *chunks(): AsyncGenerator<Buffer> {
    for await (const chunk of this.response) yield chunk as Buffer;
  }

  /** Lets a stalled client read everything and keep nothing. */
  discard(): void {
    this.response.resume();
  }

  /** Lets the client read, and keep what it reads. */
  read(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    this.response.on('data', (chunk: Buffer) => {
      this.#received.push(chunk);
      this.#length += chunk.length;
      this.#tell();
    });
  }

  /** Cuts the connection. */
  cut(): void {
    this.response.destroy();
  }

  async #untilRead(condition: () => boolean): Promise<void> {
    this.read();
    while (!this.response.closed && !condition()) await this.#news.promise;
  }

  #tell(): void {
    const news = this.#news;
    this.#news = deferred();
    news.resolve();
  }
}

/** Sends a request, and resolves when the headers of its response have arrived. */
export async function request(base: string, options: RequestOptions = {}, body: Body = ''): Promise<Reply> {
  const { method = 'POST', path = '/query', headers, agent = false, isStalled = false } = options;
  const sent = http.request(`${base}${path}`, {
    method,
    agent,
    headers: { ...(method === 'POST' && { 'content-type': 'application/json' }), ...headers },
  });
  const answered = once(sent, 'response') as Promise<[http.IncomingMessage]>;
  sent.on('error', () => undefined);
  if (typeof body === 'string' || body instanceof Uint8Array) sent.end(body);
  else send(sent, body).catch(() => undefined);
  const [response] = await answered;
  const reply = new Reply(response);
  if (!isStalled) reply.read();
  return reply;
}

/** Sends a query that is one text. */
export function ask(
  base: string,
  text = 'Hello',
  { kwargs, metadata, ...options }: RequestOptions & { kwargs?: object; metadata?: object } = {},
): Promise<Reply> {
  return request(base, options, JSON.stringify({ parts: [{ type: 'text', text }], kwargs, metadata }));
}

/** Sends a GET, such as for the JSON of a run. */
export function get(base: string, path: string, headers: http.OutgoingHttpHeaders = {}): Promise<Reply> {
  return request(base, { method: 'GET', path, headers });
}

/** Follows a run in the full profile, from its beginning unless the headers have a `Last-Event-ID`. */
export function follow(base: string, runId: string, headers: http.OutgoingHttpHeaders = {}): Promise<Reply> {
  return get(base, `/query/${runId}`, { ...FULL, ...headers });
}

/** Cancels a run. */
export function cancel(base: string, runId: string): Promise<Reply> {
  return request(base, { method: 'DELETE', path: `/query/${runId}` });
}

/** The events of a stream, as a standard parser finds them; an unfinished last one is dropped. */
export function eventsOf(stream: Uint8Array | string): ReadEvent[] {
  const events: ReadEvent[] = [];
  const parser = createParser({ onEvent: ({ id, data }) => events.push({ id, data }) });
  parser.feed(typeof stream === 'string' ? stream : new TextDecoder().decode(stream, { stream: true }));
  return events;
}

export function envelopesOf(stream: string): Envelope[] {
  return eventsOf(stream).map(({ data }) => JSON.parse(data) as Envelope);
}

/** The joined contents of a stream's messages, and the data of each `done`. */
export function answerOf(stream: string): { text: string; done: unknown[] } {
  const envelopes = envelopesOf(stream);
  const text = envelopes
    .filter(({ type }) => type === 'message')
    .map(({ data }) => (data as { content: string }).content)
    .join('');
  return { text, done: envelopes.filter(({ type }) => type === 'done').map(({ data }) => data) };
}

async function send(sent: http.ClientRequest, body: AsyncIterable<Uint8Array | string>): Promise<void> {
  let answered = false;
  sent.once('response', () => (answered = true));
  for await (const piece of body) {
    if (answered || sent.destroyed) break;
    if (!sent.write(piece))
      await Promise.race([once(sent, 'drain'), once(sent, 'close'), once(sent, 'response')]);
  }
  sent.end();
}
