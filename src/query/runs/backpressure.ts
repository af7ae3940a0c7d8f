import type { Followers } from '../event-log/followers.js';
import { KEPT_LENGTH } from '../ports/run-store.js';

/** An async iterable is pulled without a pause until it has emitted so many characters of JSON. */
const BURST_LENGTH = KEPT_LENGTH / 2;

/** An async iterable is not pulled while its fastest follower is so many characters of JSON behind. */
const LAG_LENGTH = KEPT_LENGTH - BURST_LENGTH;

/**
 * Holds a handler back when nobody reads its answer as fast as it emits. Without it, an answer of any length would be kept in
 * memory. Only an async iterable can be held back.
 */
export class Backpressure {
  /** Characters of JSON that the handler has emitted. */
  #emitted = 0;
  /** How many of them had been emitted when the handler was held back last. */
  #emittedAtPause = 0;

  /**
   * @param followers the followers of the run
   * @param hasEnded whether the end of the run is decided: then nothing is waited for
   */
  constructor(
    private readonly followers: Followers,
    private readonly hasEnded: () => boolean,
  ) {}

  /** Counts an envelope of this length. */
  emitted(length: number): void {
    this.#emitted += length;
  }

  /**
   * Where the handler must be held back: a promise of when it may go on. It never rejects.
   *
   * @param stored settles when what was emitted is in the store, or cannot be stored; undefined where it is stored already
   */
  pause(stored: Promise<void> | undefined): Promise<void> | undefined {
    return this.#emitted - this.#emittedAtPause < BURST_LENGTH ? undefined : this.#wait(stored);
  }

  /** Waits one tick, then for the store, then until the fastest follower is near. */
  async #wait(stored: Promise<void> | undefined): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    await stored;
    while (!this.hasEnded() && this.followers.lag(this.#emitted) > LAG_LENGTH) {
      await this.followers.nextAdvance();
    }
    this.#emittedAtPause = this.#emitted;
  }
}
