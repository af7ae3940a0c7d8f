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
      return { ...rest, stream: stream.pipeThrough(this.#transform()) };
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

  #transform<T>(): TransformStream<T, T> {
    return new TransformStream({
      transform: (part, controller): Promise<void> | void => {
        this.#ahead += 1;
        controller.enqueue(part);
        if (this.#ahead >= AHEAD && !this.#isWanted && !this.#isOpen) return this.#wait();
      },
    });
  }

  async #wait(): Promise<void> {
    await new Promise<void>((resolve) => (this.#pass = resolve));
    this.#pass = undefined;
  }
}
