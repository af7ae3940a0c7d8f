import type { Followers } from '../event-log/followers.js';
import { KEPT_LENGTH } from '../ports/run-store.js';
import type { TimeLimit } from './time-limit.js';

/** An async iterable is pulled without a pause until it has emitted so many characters of JSON. */
const BURST_LENGTH = KEPT_LENGTH / 2;

/** An async iterable is not pulled while its fastest follower is so many characters of JSON behind. */
const LAG_LENGTH = KEPT_LENGTH - BURST_LENGTH;

/** An answer that cannot be held back is looked at after so many characters of JSON. */
const CHECK_LENGTH = 1024 * 1024;

/**
 * So many characters of JSON may be emitted before the store has stored them. Every store can take so much; an async iterable
 * never comes near.
 */
export const MAX_UNSTORED_LENGTH = 32 * 1024 * 1024;
export const TOO_FAST =
  'The answer came faster than it could be stored. An Observable cannot be held back: let the agent emit less at once, or ' +
  'answer with an async iterable.';

/**
 * Holds a handler back when nobody reads its answer as fast as it emits. Without it, an answer of any length would be kept in
 * memory. An Observable cannot be held back, so it fails if it is too fast for any store.
 */
export class Backpressure {
  /** Characters of JSON that the handler has emitted. */
  #emitted = 0;
  /** How many of them had been emitted when the handler was held back last. */
  #emittedAtPause = 0;
  /** How many of them are known to be stored. */
  #stored = 0;
  #isChecking = false;

  /** @param hasEnded whether the end of the run is decided: then nothing is waited for */
  constructor(
    private readonly followers: Followers,
    private readonly hasEnded: () => boolean,
    private readonly timeLimit: TimeLimit,
  ) {}

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

  /** Whether more was emitted than a store can take at once. */
  isTooFast(stored: Promise<void> | undefined): boolean {
    const unstored = this.#emitted - this.#stored;
    if (unstored < CHECK_LENGTH) return false;
    if (!this.#isChecking) void this.#check(stored);
    return unstored > MAX_UNSTORED_LENGTH;
  }

  async #check(stored: Promise<void> | undefined): Promise<void> {
    this.#isChecking = true;
    const emitted = this.#emitted;
    await new Promise((resolve) => setImmediate(resolve));
    await stored;
    this.#stored = emitted;
    this.#isChecking = false;
  }

  /** Waits one tick, then for the store, then until the fastest follower is near. */
  async #wait(stored: Promise<void> | undefined): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    await stored;
    if (this.#mustWait()) {
      this.timeLimit.pause();
      while (this.#mustWait()) await this.followers.nextAdvance();
      this.timeLimit.start();
    }
    this.#emittedAtPause = this.#emitted;
  }

  #mustWait(): boolean {
    return !this.hasEnded() && this.followers.lag(this.#emitted) > LAG_LENGTH;
  }
}
