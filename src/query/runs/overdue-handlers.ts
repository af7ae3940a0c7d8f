import type { Runner } from './one/runner.js';

/**
 * How long a handler that missed its stop deadline keeps its slot. Without this bound, handlers that never stop would end the
 * service; without the slot, they would exceed the limit of concurrent handlers.
 */
const OVERDUE_SLOT_MS = 60_000;

/** The handlers that still execute although their runs have ended. Each keeps its slot for some time. */
export class OverdueHandlers {
  /** The timer that frees the slot, until that has happened. */
  readonly #timers = new Map<Runner, NodeJS.Timeout | undefined>();
  /** How many slots they take. */
  slots = 0;

  constructor(private readonly onFree: () => void) {}

  get size(): number {
    return this.#timers.size;
  }

  add(runner: Runner): void {
    this.slots++;
    const free = () => {
      this.#timers.set(runner, undefined);
      this.#free();
    };
    this.#timers.set(runner, setTimeout(free, OVERDUE_SLOT_MS).unref());
  }

  stopped(runner: Runner): void {
    const timer = this.#timers.get(runner);
    this.#timers.delete(runner);
    if (!timer) return;
    clearTimeout(timer);
    this.#free();
  }

  close(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
  }

  #free(): void {
    this.slots--;
    this.onFree();
  }
}
