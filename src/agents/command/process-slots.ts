/**
 * Limits how many processes there are at the same time. Who comes first is served first.
 *
 * @example
 * const slots = new ProcessSlots(4);
 * if (await slots.take(signal)) await work().finally(() => slots.release());
 */
export class ProcessSlots {
  /** What lets the runs in the queue begin. */
  readonly #waiting = new Set<() => void>();

  /** @param free how many processes there may be */
  constructor(private free: number) {}

  /** Whether `take` need not wait. */
  get isFree(): boolean {
    return this.free > 0;
  }

  /** Whether somebody waits for a slot. */
  get isAwaited(): boolean {
    return this.#waiting.size > 0;
  }

  /**
   * Takes a slot, or waits for one. Who has one calls `release` once.
   *
   * @returns whether a slot was taken: not if the signal aborts before
   */
  async take(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    if (this.isFree) {
      this.free -= 1;
      return true;
    }
    return new Promise((resolve) => {
      const leave = () => {
        this.#waiting.delete(grant);
        resolve(false);
      };
      const grant = () => {
        signal.removeEventListener('abort', leave);
        resolve(true);
      };
      this.#waiting.add(grant);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  /** Gives the slot to the next in the queue. */
  release(): void {
    const [next] = this.#waiting;
    if (!next) {
      this.free += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
