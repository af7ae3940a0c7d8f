/**
 * Holds a framework back between two steps, until what it has done is emitted and stored.
 *
 * @example
 * const next = events.next();
 * if (await gate.isReachedBefore(next)) {
 *   await keepSteps(context, state);
 *   gate.release();
 * }
 */
export class StepGate {
  #isOpen = false;
  #hasPassed = false;
  #reach!: () => void;
  #release!: () => void;
  #reached!: Promise<void>;
  #released!: Promise<void>;

  constructor() {
    this.#close();
  }

  /** The framework is about to call a model. The first call does not wait. */
  async pass(): Promise<void> {
    const isFirst = !this.#hasPassed;
    this.#hasPassed = true;
    if (isFirst || this.#isOpen) return;
    this.#reach();
    await this.#released;
  }

  /**
   * Waits until the framework has come to the gate, or the next event is read.
   *
   * @returns whether the framework waits, and has no event left
   */
  async isReachedBefore(nextEvent: Promise<unknown>): Promise<boolean> {
    let isRead = false;
    const setRead = () => void (isRead = true);
    await Promise.race([this.#reached, nextEvent.then(setRead, setRead)]);
    // An event that was queued before is read within this tick.
    if (!isRead) await new Promise((resolve) => setImmediate(resolve));
    return !isRead;
  }

  /** Lets the framework begin the next step. */
  release(): void {
    const release = this.#release;
    this.#close();
    release();
  }

  /** Lets the framework pass for good. */
  open(): void {
    this.#isOpen = true;
    this.release();
  }

  #close(): void {
    this.#reached = new Promise((resolve) => (this.#reach = resolve));
    this.#released = new Promise((resolve) => (this.#release = resolve));
  }
}
