import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModel } from 'ai';
import { guardedFetch, withoutPages } from './guarded-fetch.js';
import type { ModelSettings } from './model-options.js';
import { type Provider, providerOf } from './provider-package.js';
import { readableAnswers } from './readable-answers.js';

type EndpointSettings = Pick<ModelSettings, 'baseUrl' | 'model' | 'apiKey' | 'provider' | 'silenceMs'>;

/** The endpoint of a model: any that has the interface of OpenAI's chat completions, or that a provider package knows. */
export class Endpoint {
  readonly #provider: Provider;

  /** @throws {TypeError} the package of the provider cannot be used */
  constructor({ baseUrl, model, apiKey, provider, silenceMs }: EndpointSettings) {
    const secrets = apiKey === undefined ? [] : [apiKey];
    const fetch = guardedFetch(impatientFetch(silenceMs), secrets);
    const baseURL = baseUrl?.replace(/\/+$/, '');
    const key = apiKey ? { apiKey } : {};
    this.#provider =
      provider === undefined
        ? createOpenAICompatible({
            // Below this name the provider finds the signatures of Gemini's thoughts again, which Google wants back.
            name: 'google',
            baseURL: baseURL!,
            ...key,
            includeUsage: true,
            fetch: readableAnswers(fetch, secrets),
          })
        : providerOf(provider, model, {
            ...key,
            ...(baseURL !== undefined && { baseURL }),
            fetch: withoutPages(fetch, secrets),
          });
  }

  /** @param name the model, as the endpoint has it */
  model(name: string): LanguageModel {
    return this.#provider.languageModel(name);
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
    let isWaiting = true;
    const abort = () => {
      const message = `The endpoint of the model was silent for ${this.ms} ms.`;
      if (isWaiting) this.#controller.abort(new DOMException(message, 'TimeoutError'));
    };
    // In a busy process the time may be over before what has come is read: Node reads it before it calls `setImmediate`.
    const timer = setTimeout(() => setImmediate(abort), this.ms);
    try {
      return await waiting;
    } finally {
      isWaiting = false;
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
