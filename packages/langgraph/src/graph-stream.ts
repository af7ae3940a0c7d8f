import type { ModelWatch } from './model-watch.js';

/** One execution of a graph, as it is read. */
export class GraphStream {
  /** Whether the graph itself has ended or failed. */
  #hasEnded = false;

  /** @param signal with which the graph is stopped */
  constructor(
    private readonly events: AsyncIterator<unknown>,
    private readonly watch: ModelWatch,
    private readonly signal: AbortSignal,
  ) {}

  /** The next item; undefined at the end. */
  async next(): Promise<unknown> {
    this.watch.gate.startReading();
    try {
      const step = await this.events.next();
      if (step.done !== true) return step.value;
      this.#hasEnded = true;
      return undefined;
    } catch (error) {
      this.#hasEnded = !this.signal.aborted;
      throw error;
    } finally {
      this.watch.gate.stopReading();
    }
  }

  /** Waits until nothing is executed any more, after the signal was aborted. */
  async end(): Promise<void> {
    if (this.#hasEnded) return;
    await readToEnd(this.events);
    await this.watch.settled();
  }
}

/** A stream that was aborted ends with an error. */
async function readToEnd(events: AsyncIterator<unknown>): Promise<void> {
  try {
    while ((await events.next()).done !== true);
  } catch {
    // It has ended.
  }
}
