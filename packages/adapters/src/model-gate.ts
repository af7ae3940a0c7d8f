import { setImmediate as nextTurn } from 'node:timers/promises';

/** How many parts of models may be ahead of what is read. */
const AHEAD = 64;

/**
 * Holds models back while nobody reads the answer. Frameworks take all that a model sends, at once, and keep it in memory.
 *
 * @example
 * const { stream } = await model.doStream(options);
 * return { stream: gate.gated(stream) };
 */
export class ModelGate {
  #ahead = 0;
  #isReading = false;
  #isOpen = false;
  #waiting: (() => void)[] = [];

  /** The reader waits for the next event of the framework. */
  startReading(): void {
    this.#isReading = true;
    this.#release();
  }

  /** The reader has an event, and may keep the framework waiting. */
  stopReading(): void {
    this.#isReading = false;
  }

  /** Nothing is held back any more. */
  open(): void {
    this.#isOpen = true;
    this.#release();
  }

  /** To be called for each part of a model. Waits if too many parts were not read. */
  async pass(): Promise<void> {
    this.#ahead += 1;
    while (this.#ahead > AHEAD && !this.#isOpen) {
      // What has come reaches a reader within one turn of the event loop.
      await nextTurn();
      if (this.#isReading) this.#ahead = 0;
      else if (!this.#isOpen) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /**
   * The stream of a model, held back.
   *
   * @param change is given each part, and returns what takes its place. Default: the parts stay as they are
   */
  gated<T>(stream: ReadableStream<T>, change: (part: T) => T = (part) => part): ReadableStream<T> {
    const reader = stream.getReader();
    return new ReadableStream<T>(
      {
        pull: async (controller) => {
          await this.pass();
          const { done, value } = await reader.read();
          if (done) controller.close();
          else controller.enqueue(change(value));
        },
        cancel: (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
  }

  #release(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
