/** A time limit that can be paused. */
export class TimeLimit {
  #timer: NodeJS.Timeout;
  #startedAt = performance.now();
  #leftMs: number;

  /**
   * Starts the time.
   *
   * @param timeMs milliseconds
   * @param onOver called when the time is over
   */
  constructor(
    timeMs: number,
    private readonly onOver: () => void,
  ) {
    this.#leftMs = timeMs;
    this.#timer = setTimeout(onOver, timeMs);
  }

  /**
   * Stops the time until `resume`.
   *
   * @param maxMs how long the pause may take
   * @param onTooLong called when it takes longer
   */
  pause(maxMs: number, onTooLong: () => void): void {
    clearTimeout(this.#timer);
    this.#leftMs -= performance.now() - this.#startedAt;
    this.#timer = setTimeout(onTooLong, maxMs);
  }

  /** Continues after a pause. */
  resume(): void {
    clearTimeout(this.#timer);
    this.#startedAt = performance.now();
    this.#timer = setTimeout(this.onOver, Math.max(0, this.#leftMs));
  }

  /** Ends the time: nothing is called any more. */
  clear(): void {
    clearTimeout(this.#timer);
  }
}
