import { addressOf, type Endpoint } from './endpoints.js';
import { eventLines, type WireEvent } from './event-lines.js';
import { type ProtocolName, PROTOCOLS } from './protocols.js';
import { Store } from './store.js';
import type { QuestionFile } from './turn.js';

/** The most that is kept for people to look at. */
const EXCHANGES = 100;
const EVENTS = 5000;
const BODY_LENGTH = 100_000;

/** What a query has, if it has files: their contents are not kept. */
export interface SentQuery {
  text: string;
  files: Pick<QuestionFile, 'name' | 'mimeType' | 'size'>[];
  kwargs: Record<string, unknown>;
}

/** A request and what came back. */
export interface Exchange {
  id: number;
  method: string;
  url: string;
  headers: [string, string][];
  body: string | undefined;
  query: SentQuery | undefined;
  startedAt: Date;
  status: number | undefined;
  responseHeaders: [string, string][];
  /** Of a stream. */
  events: WireEvent[];
  /** Events that are no longer kept. */
  dropped: number;
  /** Of a response that is no stream. */
  text: string;
  bytes: number;
  sent: { done: number; total: number | undefined } | undefined;
  headMs: number | undefined;
  endMs: number | undefined;
  fault: string | undefined;
  note: string | undefined;
  /** The run of a stream, and the protocol that shows it. */
  run: string | undefined;
  protocol: ProtocolName | undefined;
}

/** Records the requests of the client and every byte that comes back. */
export class Wire extends Store {
  exchanges: Exchange[] = [];
  /** Whether requests for lists are shown. The page sends them often. */
  showsLists = false;
  #count = 0;
  readonly #uploads = new Map<string, Exchange>();

  constructor(
    private readonly endpoint: Endpoint,
    private readonly keyHeaders: () => Record<string, string>,
  ) {
    super();
  }

  /** `fetch`, recorded. */
  readonly fetch: typeof fetch = async (input, init = {}) => {
    const url = input instanceof Request ? input.url : String(input);
    const exchange = this.#begin(init.method ?? 'GET', url, [...new Headers(init.headers)]);
    if (typeof init.body === 'string') exchange.body = init.body;
    const began = performance.now();
    try {
      const response = await fetch(input, init);
      exchange.status = response.status;
      exchange.headMs = performance.now() - began;
      exchange.responseHeaders = [...response.headers];
      exchange.run ??= response.headers.get('Content-Location')?.split('/').at(-1);
      this.changed();
      return this.#recorded(response, exchange, began);
    } catch (error) {
      this.#failed(exchange, began, error);
      throw error;
    }
  };

  /** Follows a run in another protocol. @returns the number of the request */
  showAs(protocol: ProtocolName, run: string): number {
    const { path, headers: own } = PROTOCOLS[protocol];
    const url = this.endpoint.baseUrl + path(encodeURIComponent(run));
    const headers = { ...this.keyHeaders(), ...own?.(run), Accept: 'text/event-stream' };
    const answered = this.fetch(url, { headers });
    const exchange = this.exchanges.at(-1)!;
    Object.assign(exchange, { run, protocol });
    // It is read for the record alone. What goes wrong is in the record too.
    answered.then((response) => response.text()).catch(() => undefined);
    return exchange.id;
  }

  showLists(isShown: boolean): void {
    this.showsLists = isShown;
    this.changed();
  }

  /** Whether a request asks for a list of runs, sessions, turns, open requests or usage. */
  isForList({ method, url }: Exchange): boolean {
    const path = addressOf(this.endpoint);
    const { origin, pathname } = new URL(url, path);
    const asked = origin + pathname;
    const lists = [path, `${path}/inputs`, `${path}/usage`];
    return method === 'GET' && (lists.includes(asked) || asked.startsWith(`${path}/sessions`));
  }

  clear(): void {
    this.exchanges = this.exchanges.filter(({ endMs }) => endMs === undefined);
    this.changed();
  }

  /**
   * Records a query with files. The client sends it in another way, which tells how much was sent.
   *
   * @returns what is told the progress
   */
  upload(
    key: string,
    text: string,
    files: QuestionFile[],
    kwargs: Record<string, unknown>,
  ): (done: number, total?: number) => void {
    const headers: Record<string, string> = {
      ...this.keyHeaders(),
      Accept: 'text/event-stream',
      'Content-Type': 'application/json',
      'Idempotency-Key': key,
    };
    const exchange = this.#begin('POST', addressOf(this.endpoint), Object.entries(headers));
    exchange.query = {
      text,
      files: files.map(({ name, mimeType, size }) => ({ name, mimeType, size })),
      kwargs,
    };
    this.#uploads.set(key, exchange);
    return (done, total) => {
      exchange.sent = { done, total };
      this.changed();
    };
  }

  uploadAdmitted(key: string, runId: string): void {
    this.#uploadEnded(key, (exchange) => {
      exchange.status = 200;
      exchange.note = `The run is ${runId}. Its events come with the next request: GET ${new URL(exchange.url).pathname}/${runId}.`;
    });
  }

  uploadFailed(key: string, { message, status }: Error & { status?: number }): void {
    this.#uploadEnded(key, (exchange) => {
      exchange.status = status;
      exchange.fault = message;
    });
  }

  #uploadEnded(key: string, change: (exchange: Exchange) => void): void {
    const exchange = this.#uploads.get(key);
    if (!exchange) return;
    this.#uploads.delete(key);
    exchange.endMs = Date.now() - exchange.startedAt.getTime();
    change(exchange);
    this.changed();
  }

  #begin(method: string, url: string, headers: [string, string][]): Exchange {
    const exchange: Exchange = {
      id: (this.#count += 1),
      method,
      url,
      headers: headers.map(([name, value]) => [
        name,
        name.toLowerCase() === 'authorization' ? 'Bearer <key>' : value,
      ]),
      body: undefined,
      query: undefined,
      startedAt: new Date(),
      status: undefined,
      responseHeaders: [],
      events: [],
      dropped: 0,
      text: '',
      bytes: 0,
      sent: undefined,
      headMs: undefined,
      endMs: undefined,
      fault: undefined,
      note: undefined,
      run: undefined,
      protocol: undefined,
    };
    this.exchanges = [...this.exchanges.slice(1 - EXCHANGES), exchange];
    this.changed();
    return exchange;
  }

  #failed(exchange: Exchange, began: number, error: unknown): void {
    exchange.endMs ??= performance.now() - began;
    exchange.fault =
      (error as Error).name === 'AbortError' ? 'Closed by the page.' : (error as Error).message;
    this.changed();
  }

  /** The response, of which each chunk is noted as it passes. */
  #recorded(response: Response, exchange: Exchange, began: number): Response {
    if (!response.body || response.status === 204) {
      exchange.endMs = exchange.headMs;
      return response;
    }
    const note = this.#noteOf(response, exchange, began);
    const reader = response.body.getReader();
    const body = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          try {
            const { value, done } = await reader.read();
            if (value) {
              note(value);
              controller.enqueue(value);
            }
            if (!done) return;
            exchange.endMs = performance.now() - began;
            this.changed();
            controller.close();
          } catch (error) {
            this.#failed(exchange, began, error);
            controller.error(error);
          }
        },
        cancel: (reason) => {
          exchange.endMs ??= performance.now() - began;
          this.changed();
          return reader.cancel(reason);
        },
      },
      { highWaterMark: 0 },
    );
    const { status, statusText, headers } = response;
    return new Response(body, { status, statusText, headers });
  }

  #noteOf(response: Response, exchange: Exchange, began: number): (chunk: Uint8Array) => void {
    const type = response.headers.get('Content-Type') ?? '';
    const decoder = new TextDecoder();
    const linesOf = eventLines();
    let last = exchange.headMs ?? 0;
    return (chunk) => {
      const atMs = performance.now() - began;
      exchange.bytes += chunk.length;
      if (type.startsWith('text/event-stream')) {
        for (const event of linesOf(chunk)) {
          exchange.events.push({ ...event, atMs, gapMs: atMs - last });
          last = atMs;
        }
        const tooMany = exchange.events.length - EVENTS;
        if (tooMany > 0) {
          exchange.events.splice(0, tooMany);
          exchange.dropped += tooMany;
        }
      } else if (/json|text/.test(type) && exchange.text.length < BODY_LENGTH) {
        exchange.text += decoder.decode(chunk, { stream: true });
      }
      this.changed();
    };
  }
}
