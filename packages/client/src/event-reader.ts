import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { AgentQueryError, connectionLost, invalidResponse } from './agent-query-error.js';

/** The most characters of one event: a response that never ends its line must not fill the memory. */
const EVENT_LENGTH = 128 * 1024 * 1024;

/** How long a response may last after its last event. */
const LINGER_MS = 1_000;

/** Reads the events of one response. While nobody asks for more, nothing is read from the connection. */
export class EventReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  readonly #parser;
  readonly #events: EventSourceMessage[] = [];
  #isTooLong = false;

  /**
   * @param idleMs how long the response may be silent; 0: for ever
   * @param onRetry is told the milliseconds of a `retry:` line
   */
  constructor(
    body: ReadableStream<Uint8Array>,
    private readonly idleMs: number,
    onRetry: (ms: number) => void,
  ) {
    this.#reader = body.getReader();
    this.#parser = createParser({
      maxBufferSize: EVENT_LENGTH,
      onEvent: (event) => this.#events.push(event),
      onRetry,
      onError: ({ type }) => (this.#isTooLong ||= type === 'max-buffer-size-exceeded'),
    });
  }

  /** Reads what comes next from the connection. @throws as `next()` */
  async readMore(): Promise<void> {
    const { value, done } = await this.#read(this.idleMs);
    if (done) throw connectionLost('The response was cut.');
    this.#parser.feed(this.#decoder.decode(value, { stream: true }));
    if (this.#isTooLong) throw invalidResponse('An event of the stream is too long.');
  }

  /** @throws {AgentQueryError} `connection_lost`: the response has ended or is silent · `invalid_response` */
  async next(): Promise<EventSourceMessage> {
    while (this.#events.length === 0) await this.readMore();
    return this.#events.shift()!;
  }

  /** Lets a response that has sent its last event end by itself, so that its connection can serve another request. */
  finish(): void {
    const leave = () => this.leave();
    this.#read(LINGER_MS).then(leave, leave);
  }

  leave(): void {
    this.#reader.cancel().catch(() => undefined);
  }

  async #read(idleMs: number) {
    let timer;
    try {
      const silent = new Promise<never>((_, reject) => {
        if (idleMs > 0) timer = setTimeout(() => reject(connectionLost('The stream is silent.')), idleMs);
      });
      return await Promise.race([this.#reader.read(), silent]);
    } catch (error) {
      throw error instanceof AgentQueryError ? error : connectionLost('The response was cut.', error);
    } finally {
      clearTimeout(timer);
    }
  }
}
