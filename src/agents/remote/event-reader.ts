import type { IncomingMessage } from 'node:http';
import { addAbortSignal } from 'node:stream';
import { createParser, type EventSourceMessage, type EventSourceParser } from 'eventsource-parser';
import { QueryError } from '../../query/index.js';
import { Cut } from './cut.js';

/** The most characters of one event that are kept until it is whole. */
const EVENT_LENGTH = 32 * 1024 * 1024;

/** How long a response may last after its last event. */
const LINGER_MS = 5_000;

/** Whether a response is a stream of events. */
export function isStream({ statusCode, headers }: IncomingMessage): boolean {
  const isPlain = (headers['content-encoding'] ?? 'identity') === 'identity';
  return statusCode === 200 && isPlain && /^text\/event-stream\b/i.test(headers['content-type'] ?? '');
}

/** Reads the events of a response. While nobody asks for more, nothing is read from the connection. */
export class EventReader {
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #decoder = new TextDecoder();
  readonly #parser: EventSourceParser;
  #events: EventSourceMessage[] = [];
  #isTooLong = false;
  #hasEnded = false;

  /** @param signal cuts the response */
  constructor(
    private readonly response: IncomingMessage,
    signal: AbortSignal,
  ) {
    addAbortSignal(signal, response);
    this.#chunks = (response as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
    this.#parser = createParser({
      maxBufferSize: EVENT_LENGTH,
      onEvent: (event) => this.#events.push(event),
      onError: ({ type }) => (this.#isTooLong ||= type === 'max-buffer-size-exceeded'),
    });
  }

  /**
   * Waits for the next events; they may be none.
   *
   * @param isLastWhole whether the last event counts without the blank line after it, as some services send it
   * @returns undefined at the end of the response
   * @throws {Cut} the connection was cut · {QueryError} `invalid_envelope`: an event is too long
   */
  async next(isLastWhole: boolean): Promise<EventSourceMessage[] | undefined> {
    if (this.#hasEnded) return undefined;
    const step = await this.#chunks.next().catch((error: Error) => {
      throw new Cut(error);
    });
    this.#hasEnded = step.done === true;
    if (!step.done) this.#parser.feed(this.#decoder.decode(step.value, { stream: true }));
    else if (isLastWhole) this.#parser.feed(`${this.#decoder.decode()}\n\n`);
    if (this.#isTooLong)
      throw new QueryError('invalid_envelope', 'The remote agent sent an event that is too long.');
    const events = this.#events;
    this.#events = [];
    return events;
  }

  /** Leaves the rest of the response. After its last event the connection can serve another request. */
  leave(isComplete: boolean): void {
    const { response } = this;
    if (!isComplete || response.closed) return void response.destroy();
    const timer = setTimeout(() => response.destroy(), LINGER_MS);
    response.once('close', () => clearTimeout(timer)).resume();
  }
}
