/** A fixed number of places; whoever finds none free waits in line. */
export class Places {
  #free: number;
  readonly #line: (() => void)[] = [];

  /** @param amount places there are, at least 1 */
  constructor(amount: number) {
    this.#free = amount;
  }

  /**
   * Takes a place, first come, first served.
   *
   * @param signal ends the wait
   * @returns gives the place back; to be called once
   * @throws the signal's reason, once it is raised before there is a place
   */
  async enter(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#wait(signal);
    return () => this.#leave();
  }

  #leave(): void {
    const next = this.#line.shift();
    if (next) next();
    else this.#free += 1;
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        this.#line.splice(this.#line.indexOf(proceed), 1);
        reject(signal.reason as Error);
      };
      const proceed = () => {
        signal.removeEventListener('abort', giveUp);
        resolve();
      };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#line.push(proceed);
    });
  }
}
