import { Logger } from '@nestjs/common';
import { withoutSecrets } from 'nest-agent-query/agents';
import { eventParser } from 'nest-agent-query-client/streams';
import { type ChatChunk, chunkOf } from './chat-chunks.js';

/** The most characters of an answer that is no stream of events. */
const WHOLE_LENGTH = 16 * 1024 * 1024;

/** So many characters of what cannot be read go to the log. */
const SHOWN_LENGTH = 1_000;

/** How a stream of events begins, also where it is cut before its first event. */
const EVENT_STREAM = /^\uFEFF?(?:data|event|id|retry)?:/m;

/** What a chunk has that may need a change, or ends the answer. A quotation mark in a text has a backslash before it. */
const CHANGED = /"(?:error|message|tool_calls)"|"model":""|"finish_reason":"/;

/**
 * The same `fetch`, whose successful responses are streams that the AI SDK can read. What says nothing is left out and logged. An
 * answer that came as a whole, or an error with the status 200, becomes a stream.
 *
 * @param secrets keys, which the log must not have
 */
export function readableAnswers(fetch: typeof globalThis.fetch, secrets: readonly string[]): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (!response.ok || !response.body) return response;
    return new Response(readable(response.body, new ReadableAnswer(secrets)), response);
  };
}

function readable(body: ReadableStream<Uint8Array>, answer: ReadableAnswer): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const encoder = new TextEncoder();
  return new ReadableStream(
    {
      pull: async (controller) => {
        for (let text = ''; text === '';) {
          const { done, value } = await reader.read();
          text = done ? answer.end() : answer.add(value);
          if (text !== '') controller.enqueue(encoder.encode(text));
          if (done) return controller.close();
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

/** The events of one answer. */
class ReadableAnswer {
  readonly #parse = eventParser({ onEvent: ({ data }) => this.#event(data) });
  readonly #decoder = new TextDecoder();
  /** What has come, as long as it may be no stream of events. */
  #whole: string | undefined = '';
  #events = '';
  #hasChunk = false;
  #isFinished = false;
  #leftOut: string | undefined;

  constructor(private readonly secrets: readonly string[]) {}

  /** @returns the events that are complete now @throws {Error} it is no stream of events, and too long */
  add(bytes: Uint8Array): string {
    if (this.#whole !== undefined) this.#whole += this.#decoder.decode(bytes, { stream: true });
    this.#parse(bytes);
    if (this.#whole !== undefined && this.#whole.length > WHOLE_LENGTH) throw this.#unreadable(this.#whole);
    return this.#taken();
  }

  /** @returns the last events @throws {Error} nothing of the answer can be read */
  end(): string {
    if (this.#whole !== undefined) this.#readWhole(this.#whole);
    else if (!this.#hasChunk && this.#leftOut !== undefined) throw this.#unreadable(this.#leftOut);
    return this.#taken();
  }

  #readWhole(text: string): void {
    // An answer that is empty or cut before its first event is interrupted, which the SDK notices.
    if (text.trim() === '' || EVENT_STREAM.test(text)) return;
    const chunk = chunkOf(parsed(text));
    if (!chunk) throw this.#unreadable(text);
    this.#take(chunk);
  }

  #event(data: string): void {
    this.#whole = undefined;
    if (this.#hasChunk && !this.#isFinished && isPlain(data)) return this.#send(data);
    const isEnd = data === '[DONE]';
    const value = parsed(data);
    const chunk = chunkOf(value);
    if (chunk && !(this.#isFinished && 'error' in chunk)) this.#take(chunk);
    // A piece of the answer that is damaged: without it, the answer would be another one.
    else if (isEnd || (value === undefined && data.startsWith('{') && !this.#isFinished)) this.#send(data);
    else this.#leaveOut(data);
  }

  #take(chunk: ChatChunk): void {
    // Azure begins with what its filter says of the prompt, without a model: the SDK takes the model of the first chunk.
    if (!this.#hasChunk && chunk.model === undefined && chunk.choices?.length === 0 && !chunk.usage) return;
    this.#hasChunk = true;
    this.#isFinished ||= (chunk.choices ?? []).some((choice) => choice?.finish_reason != null);
    this.#send(JSON.stringify(chunk));
  }

  #leaveOut(data: string): void {
    if (this.#leftOut !== undefined) return;
    this.#leftOut = data;
    new Logger('Model').warn(
      `The endpoint of the model sent an event that says nothing: ${this.#shown(data)}`,
    );
  }

  #send(data: string): void {
    this.#events += `data: ${data.replaceAll('\n', '\ndata: ')}\n\n`;
  }

  #taken(): string {
    const events = this.#events;
    this.#events = '';
    return events;
  }

  #unreadable(text: string): Error {
    const error = new Error(`It answered with no stream of chat completions: ${this.#shown(text)}`);
    error.name = 'InvalidResponseDataError';
    return error;
  }

  #shown(text: string): string {
    return withoutSecrets(text, this.secrets).slice(0, SHOWN_LENGTH);
  }
}

/** Whether a chunk needs no change, by its text: an answer has thousands of these, and the SDK parses each again. */
function isPlain(data: string): boolean {
  return data.includes('"choices":[{') && data.includes('"delta":{') && !CHANGED.test(data);
}

/** Undefined: it is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
