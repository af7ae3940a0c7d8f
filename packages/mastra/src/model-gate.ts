/** How many parts of a model may be ahead of what is read. */
const AHEAD = 64;

/** A model as the framework calls it. */
export interface GatedModel {
  doStream(options: unknown): PromiseLike<{ stream: ReadableStream<unknown> }>;
}

/**
 * Holds the stream of a model back while nobody reads the answer. The framework takes all that a model sends, at once, and keeps it
 * in memory.
 */
export class ModelGate {
  #ahead = 0;
  #isWanted = false;
  #isOpen = false;
  #pass: (() => void) | undefined;
  /** The end of the turn of the event loop in which the newest part has come; undefined after it. */
  #turn: Promise<void> | undefined;

  /** The model, held back. Everything else of it is as it was. */
  gated<T extends object>(model: T): T {
    return new Proxy(model, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        if (name === 'doStream') return (options: unknown) => this.#stream(target as GatedModel, options);
        return value.bind(target) as unknown;
      },
    });
  }

  /** The next chunk is waited for. */
  wanted(): void {
    this.#isWanted = true;
    this.#ahead = 0;
    this.#pass?.();
  }

  /** A chunk was read, and is dealt with now. */
  taken(): void {
    this.#isWanted = false;
  }

  /** Nothing is held back any more. */
  open(): void {
    this.#isOpen = true;
    this.#pass?.();
  }

  async #stream(model: GatedModel, options: unknown) {
    const { stream, ...rest } = await model.doStream(options);
    return { ...rest, stream: stream.pipeThrough(new TransformStream({ transform: this.#transform })) };
  }

  /**
   * The framework loses parts of a model that come within one turn of the event loop, one of six. So each has a turn of its own.
   */
  readonly #transform = async (
    part: unknown,
    controller: TransformStreamDefaultController<unknown>,
  ): Promise<void> => {
    if (this.#turn) await this.#turn;
    this.#turn = new Promise((resolve) =>
      setImmediate(() => {
        this.#turn = undefined;
        resolve();
      }),
    );
    controller.enqueue(part);
    this.#ahead += 1;
    if (this.#ahead >= AHEAD && !this.#isWanted && !this.#isOpen)
      await new Promise<void>((resolve) => (this.#pass = resolve));
  };
}
