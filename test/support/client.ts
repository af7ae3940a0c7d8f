import { createParser } from 'eventsource-parser';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { Envelope } from '../../src/index.js';

export const FULL = { accept: 'text/event-stream' };

/** An event as a standard parser reads it. */
export interface ReadEvent {
  id: string | undefined;
  data: string;
}

/** `POST {base}/query` with a text. */
export function post(
  base: string,
  text = 'Hello',
  { kwargs = {}, headers = {}, signal }: { kwargs?: object; headers?: object; signal?: AbortSignal } = {},
): Promise<Response> {
  return fetch(`${base}/query`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ parts: [{ type: 'text', text }], kwargs }),
    ...(signal && { signal }),
  });
}

/** The id of the run that a response follows. */
export function runIdOf(response: Response): string {
  return response.headers.get('content-location')!.split('/').at(-1)!;
}

/** The events of a stream, as a standard parser finds them; an unfinished last one is dropped. */
export function eventsOf(stream: string | Uint8Array): ReadEvent[] {
  const events: ReadEvent[] = [];
  const parser = createParser({ onEvent: ({ id, data }) => events.push({ id, data }) });
  parser.feed(typeof stream === 'string' ? stream : new TextDecoder().decode(stream, { stream: true }));
  return events;
}

export function envelopesOf(stream: string): Envelope[] {
  return eventsOf(stream).map(({ data }) => JSON.parse(data) as Envelope);
}

/** The contents of a stream's messages, and what its `done` says. */
export function answerOf(stream: string): { text: string; done: unknown[] } {
  const envelopes = envelopesOf(stream);
  const text = envelopes
    .filter(({ type }) => type === 'message')
    .map(({ data }) => (data as { content: string }).content)
    .join('');
  return { text, done: envelopes.filter(({ type }) => type === 'done').map(({ data }) => data) };
}

/** A connection of which a test reads as much as it wants to. */
export class Connection {
  private constructor(
    readonly request: ClientRequest,
    readonly response: IncomingMessage,
  ) {}

  /** Opens a connection of its own and waits for the headers. Nothing of the body is read. */
  static open(url: string, { method = 'GET', headers = {}, body = '' } = {}): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const opened = request(url, { method, headers, agent: false }, (response) => {
        // A cut connection is what is asked for here.
        response.on('error', () => undefined);
        resolve(new Connection(opened, response));
      });
      opened.on('error', reject);
      opened.end(body);
    });
  }

  static post(base: string, text: string, headers: object = {}, kwargs: object = {}): Promise<Connection> {
    return Connection.open(`${base}/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ parts: [{ type: 'text', text }], kwargs }),
    });
  }

  get status(): number {
    return this.response.statusCode!;
  }

  get runId(): string {
    return this.response.headers['content-location']!.split('/').at(-1)!;
  }

  /** Reads until so many bytes have come or the stream has ended; the connection is then cut. */
  async readBytes(count = Infinity): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let length = 0;
    if (count > 0) {
      for await (const chunk of this.response as AsyncIterable<Buffer>) {
        chunks.push(chunk);
        length += chunk.length;
        if (length >= count) break;
      }
    }
    this.cut();
    return Buffer.concat(chunks).subarray(0, count);
  }

  /** Reads until what has come contains a text; the connection stays. */
  async readUntil(text: string): Promise<string> {
    let read = '';
    while (!read.includes(text)) {
      const chunk = (this.response.read() as Buffer | null)?.toString();
      if (chunk !== undefined) read += chunk;
      else if (this.response.readableEnded || this.response.destroyed) throw new Error(`Ended with: ${read}`);
      else {
        await new Promise<void>((resolve) => {
          const go = () => {
            for (const event of ['readable', 'end', 'close']) this.response.off(event, go);
            resolve();
          };
          for (const event of ['readable', 'end', 'close']) this.response.on(event, go);
        });
      }
    }
    return read;
  }

  cut(): void {
    this.request.destroy();
  }
}
