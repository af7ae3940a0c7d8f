import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long work may hold the event loop before other requests have their turn, in milliseconds. */
const SHARE_MS = 10;

/** The share of the event loop that one piece of long work may use. */
export class EventLoopShare {
  #used = 0;
  #began = performance.now();

  /** Work begins or continues in this turn of the loop. */
  begin(): void {
    this.#began = performance.now();
  }

  /** Whether the work has used its share, and is to wait for the `next` turn. Costs little enough for every few KiB. */
  get isUsedUp(): boolean {
    const now = performance.now();
    this.#used += now - this.#began;
    this.#began = now;
    return this.#used > SHARE_MS;
  }

  /** Resolves when other requests have had their turn. The work has a new share then. */
  async next(): Promise<void> {
    await nextTurn();
    this.#used = 0;
    this.begin();
  }
}
