import type { LanguageModel, LanguageModelMiddleware } from 'ai';

/** How many parts of a model may be ahead of what is read. */
const AHEAD = 256;

type Wrappable = Extract<LanguageModel, { specificationVersion: 'v3' }>;

/** Whether the stream of a model can be held back. It cannot if the SDK finds the model by its name. */
export function isWrappable(model: LanguageModel): model is Wrappable {
  return typeof model === 'object' && model.specificationVersion === 'v3';
}

/**
 * Holds the stream of a model back while nobody reads the answer. The SDK takes all that a model sends, at once, and keeps it in
 * memory.
 */
export class ModelGate {
  #ahead = 0;
  #isWanted = true;
  #pass: (() => void) | undefined;
  #isOpen = false;

  /** Part of the model that is gated. */
  readonly middleware: LanguageModelMiddleware = {
    specificationVersion: 'v3',
    wrapStream: async ({ doStream }) => {
      const { stream, ...rest } = await doStream();
      this.#ahead = 0;
      return { ...rest, stream: this.#gated(stream) };
    },
  };

  /** A part was read, and is dealt with now. */
  taken(): void {
    this.#ahead -= 1;
    this.#isWanted = false;
  }

  /** The next part is waited for. */
  wanted(): void {
    this.#isWanted = true;
    this.#pass?.();
  }

  /** Nothing is held back any more. */
  open(): void {
    this.#isOpen = true;
    this.#pass?.();
  }

  /** Passes on what comes as long as the gate lets it. The SDK never asks for less, so nothing else must be looked at. */
  #gated<T>(stream: ReadableStream<T>): ReadableStream<T> {
    const reader = stream.getReader();
    return new ReadableStream({
      start: (controller) => {
        this.#pump(reader, controller).catch((error: unknown) => controller.error(error));
      },
      cancel: (reason) => reader.cancel(reason),
    });
  }

  async #pump<T>(
    reader: ReadableStreamDefaultReader<T>,
    controller: ReadableStreamDefaultController<T>,
  ): Promise<void> {
    for (;;) {
      if (this.#ahead >= AHEAD && !this.#isWanted && !this.#isOpen) await this.#wait();
      const { done, value } = await reader.read();
      if (done) return controller.close();
      this.#ahead += 1;
      controller.enqueue(value);
    }
  }

  async #wait(): Promise<void> {
    await new Promise<void>((resolve) => (this.#pass = resolve));
    this.#pass = undefined;
  }
}
