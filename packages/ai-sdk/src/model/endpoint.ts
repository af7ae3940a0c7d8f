import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModel } from 'ai';
import { guardedFetch } from './guarded-fetch.js';
import type { ModelSettings } from './model-options.js';
import { readableAnswers } from './readable-answers.js';

/** The endpoint of a model: any that has the interface of OpenAI's chat completions. */
export class Endpoint {
  readonly #provider: ReturnType<typeof createOpenAICompatible>;

  constructor({ baseUrl, apiKey, silenceMs }: Pick<ModelSettings, 'baseUrl' | 'apiKey' | 'silenceMs'>) {
    const secrets = apiKey === undefined ? [] : [apiKey];
    this.#provider = createOpenAICompatible({
      // Below this name the provider finds the signatures of Gemini's thoughts again, which Google wants back.
      name: 'google',
      baseURL: baseUrl.replace(/\/+$/, ''),
      ...(apiKey && { apiKey }),
      includeUsage: true,
      fetch: readableAnswers(guardedFetch(impatientFetch(silenceMs), secrets), secrets),
    });
  }

  /** @param name the model, as the endpoint has it */
  model(name: string): LanguageModel {
    return this.#provider.chatModel(name);
  }
}

/**
 * Makes a `fetch` that ends a request whose other side is silent for too long, at any point of the response. The time in which
 * nobody reads the response does not count.
 *
 * @param silenceMs how long that is
 */
export function impatientFetch(silenceMs: number): typeof fetch {
  return async (input, init = {}) => {
    const silence = new Silence(silenceMs);
    const signals = init.signal ? [init.signal, silence.signal] : [silence.signal];
    const response = await silence.during(fetch(input, { ...init, signal: AbortSignal.any(signals) }));
    return new Response(response.body && silence.watched(response.body), response);
  };
}

/** Aborts a request after a time in which nothing comes. */
class Silence {
  readonly #controller = new AbortController();

  constructor(private readonly ms: number) {}

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Waits for the other side. */
  async during<T>(waiting: Promise<T>): Promise<T> {
    const timer = setTimeout(() => {
      const message = `The endpoint of the model was silent for ${this.ms} ms.`;
      this.#controller.abort(new DOMException(message, 'TimeoutError'));
    }, this.ms);
    try {
      return await waiting;
    } finally {
      clearTimeout(timer);
    }
  }

  /** The same body. */
  watched(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    const reader = body.getReader();
    return new ReadableStream(
      {
        pull: async (controller) => {
          const { done, value } = await this.during(reader.read());
          if (done) controller.close();
          else controller.enqueue(value);
        },
        cancel: (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
  }
}
