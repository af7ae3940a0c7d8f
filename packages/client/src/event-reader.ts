import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { connectionLost, invalidResponse, responseCut } from './agent-query-error.js';

/** The most characters of one event: a response that never ends its line must not fill the memory. */
const EVENT_LENGTH = 128 * 1024 * 1024;

/** How long a response may last after its last event. */
const LINGER_MS = 1_000;

/** An event of a stream, with the `id` that it has itself. */
export type StreamEvent = Pick<EventSourceMessage, 'id' | 'data'>;

/** What is told what a stream has, in its order. */
export interface StreamListener {
  onEvent(this: void, event: StreamEvent): void;
  /** Is told the milliseconds of a `retry:` line. */
  onRetry?: ((ms: number) => void) | undefined;
  /** Is told a comment without its colon. */
  onComment?: ((text: string) => void) | undefined;
}

/** Where a reader gets bytes, such as a `ReadableStreamDefaultReader`. */
export interface ByteSource {
  read(): Promise<{ done?: boolean | undefined; value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

/**
 * Reads a stream of events (WHATWG HTML §9.2.6) whose bytes come from elsewhere.
 *
 * @returns what is given the bytes of the stream, however they are cut. It throws an `AgentQueryError` `invalid_response`
 * where an event has more than 134,217,728 characters
 *
 * @example
 * const parse = eventParser({ onEvent: ({ id, data }) => console.log(id, JSON.parse(data)) });
 * for await (const bytes of response) parse(bytes);
 */
export function eventParser(listener: StreamListener): (bytes: Uint8Array) => void {
  const decoder = new TextDecoder();
  let isTooLong = false;
  const parser = createParser({
    ...listener,
    maxBufferSize: EVENT_LENGTH,
    onError: ({ type }) => (isTooLong ||= type === 'max-buffer-size-exceeded'),
  });
  return (bytes) => {
    parser.feed(decoder.decode(bytes, { stream: true }));
    if (isTooLong) throw invalidResponse('An event of the stream is too long.');
  };
}

/**
 * Reads the events of one response. While nobody asks for more, nothing is read from the connection.
 *
 * @example
 * const reader = new EventReader(response.body.getReader(), undefined, 60_000);
 * console.log(await reader.next());
 * reader.leave();
 */
export class EventReader {
  readonly #events: StreamEvent[] = [];
  readonly #parse;

  /**
   * @param onRetry is told the milliseconds of a `retry:` line
   * @param idleMs how long the response may be silent: milliseconds, less than 2 ** 31; 0: for ever
   */
  constructor(
    private readonly source: ByteSource,
    onRetry: ((ms: number) => void) | undefined,
    private readonly idleMs: number,
  ) {
    this.#parse = eventParser({ onEvent: (event) => this.#events.push(event), onRetry });
  }

  /** Reads what comes next from the connection. @throws as `next()` */
  async readMore(): Promise<void> {
    const { value } = await this.#read(this.idleMs);
    if (!value) throw responseCut();
    this.#parse(value);
  }

  /** @throws {AgentQueryError} `connection_lost`: the response has ended or is silent · `invalid_response`: an event is too long */
  async next(): Promise<StreamEvent> {
    while (this.#events.length === 0) await this.readMore();
    return this.#events.shift()!;
  }

  /** Lets a response that has sent its last event end by itself, so that its connection can serve another request. */
  finish(): void {
    const leave = () => this.leave();
    this.#read(LINGER_MS).then(leave, leave);
  }

  /** Closes the connection. */
  leave(): void {
    this.source.cancel().catch(() => undefined);
  }

  #read(idleMs: number) {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const silent = new Promise<never>((_, reject) => {
      if (idleMs > 0) timer = setTimeout(() => reject(connectionLost('The stream is silent.')), idleMs);
    });
    const read = this.source.read().catch((error: unknown) => {
      throw responseCut(error);
    });
    return Promise.race([read, silent]).finally(() => clearTimeout(timer));
  }
}
