import type { Runner } from './one/runner.js';
import type { Slot } from './slots.js';

/**
 * How long a handler that missed its stop deadline keeps its slot. Without this bound, handlers that never stop would end the
 * service; without the slot, they would exceed the limit of concurrent handlers.
 */
const OVERDUE_SLOT_MS = 60_000;

/** The handlers that still execute although their runs have ended. Each keeps its slot for some time. */
export class OverdueHandlers {
  readonly #all = new Map<Runner, { slot: Slot; timer: NodeJS.Timeout }>();

  get size(): number {
    return this.#all.size;
  }

  /** How many slots they take. */
  get slots(): number {
    return [...this.#all.values()].filter(({ slot }) => !slot.isReleased).length;
  }

  add(runner: Runner, slot: Slot): void {
    this.#all.set(runner, { slot, timer: setTimeout(() => slot.release(), OVERDUE_SLOT_MS).unref() });
  }

  stopped(runner: Runner): void {
    const { slot, timer } = this.#all.get(runner) ?? {};
    this.#all.delete(runner);
    clearTimeout(timer);
    slot?.release();
  }

  close(): void {
    for (const { timer } of this.#all.values()) clearTimeout(timer);
  }
}
