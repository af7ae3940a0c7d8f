/** A fixed number of slots. Callers wait in order while none is free. */
export class Slots {
  #free: number;
  readonly #queue: (() => void)[] = [];

  /** @param amount number of slots, at least 1 */
  constructor(amount: number) {
    this.#free = amount;
  }

  /**
   * Takes a slot. Callers get slots in the order of their calls.
   *
   * @param signal ends the wait
   * @returns a function that returns the slot; call it once
   * @throws the signal's reason, if it is aborted before there is a slot
   */
  async acquire(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#wait(signal);
    return () => this.#release();
  }

  #release(): void {
    const next = this.#queue.shift();
    if (next) next();
    else this.#free += 1;
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#queue.splice(this.#queue.indexOf(proceed), 1);
        reject(signal.reason as Error);
      };
      const proceed = () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#queue.push(proceed);
    });
  }
}
