import type { Runner } from './runner.js';

/**
 * How long a handler that missed its stop deadline keeps its slot. Without this bound, handlers that never stop would end the
 * service; without the slot, they would exceed the limit of concurrent handlers.
 */
const OVERDUE_SLOT_MS = 60_000;

/** The slots in which the runs of this process execute. */
export class Slots {
  readonly #running = new Set<Runner>();
  /** Runners whose handler missed its stop deadline, each with the timer that frees its slot. */
  readonly #overdue = new Map<Runner, NodeJS.Timeout | undefined>();
  /** Slots of overdue handlers. */
  #kept = 0;
  /** Slots for runs that are being admitted or taken. */
  #reserved = 0;

  /** @param onFree called when an overdue handler no longer keeps its slot */
  constructor(
    private readonly count: number,
    private readonly onFree: () => void,
  ) {}

  get running(): number {
    return this.#running.size;
  }

  get overdue(): number {
    return this.#overdue.size;
  }

  /** How many slots are taken: by runs that execute, and by overdue handlers. */
  get taken(): number {
    return this.#running.size + this.#kept;
  }

  /** How many slots are neither taken nor reserved. */
  get free(): number {
    return Math.max(0, this.count - this.taken - this.#reserved);
  }

  /** Whether a slot may become free without the end of a run: it is only reserved. */
  get mayBecomeFree(): boolean {
    return this.taken < this.count;
  }

  executes(runner: Runner): boolean {
    return this.#running.has(runner);
  }

  reserve(count: number): void {
    this.#reserved += count;
  }

  release(count: number): void {
    this.#reserved -= count;
  }

  start(runner: Runner): void {
    this.#reserved--;
    this.#running.add(runner);
  }

  /** A run has left this process. If its handler still executes, that keeps the slot for some time. */
  end(runner: Runner): void {
    this.#running.delete(runner);
    if (!this.#overdue.has(runner)) return;
    this.#kept++;
    const free = () => {
      this.#kept--;
      this.#overdue.set(runner, undefined);
      this.onFree();
    };
    this.#overdue.set(runner, setTimeout(free, OVERDUE_SLOT_MS).unref());
  }

  missedDeadline(runner: Runner): void {
    this.#overdue.set(runner, undefined);
  }

  /** An overdue handler has stopped. Returns whether that frees a slot. */
  stoppedLate(runner: Runner): boolean {
    const timer = this.#overdue.get(runner);
    this.#overdue.delete(runner);
    clearTimeout(timer);
    if (timer) this.#kept--;
    return timer !== undefined;
  }

  close(): void {
    for (const timer of this.#overdue.values()) clearTimeout(timer);
  }
}
