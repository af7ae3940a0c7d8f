import type { Clock, Timer } from '../platform/clock.js';

/** A time limit that can be paused. */
export class TimeLimit {
  #timer: Timer;
  #startedAt: number;
  #leftMs: number;

  constructor(
    private readonly clock: Clock,
    timeMs: number,
    private readonly onOver: () => void,
  ) {
    this.#leftMs = timeMs;
    this.#startedAt = clock.now();
    this.#timer = clock.start('timeoutMs', timeMs, onOver);
  }

  /**
   * Stops the time until `resume`.
   *
   * @param maxMs how long the pause may take
   * @param onTooLong called when it takes longer
   */
  pause(maxMs: number, onTooLong: () => void): void {
    this.clock.stop(this.#timer);
    this.#leftMs -= this.clock.now() - this.#startedAt;
    this.#timer = this.clock.start('backpressureMs', maxMs, onTooLong);
  }

  resume(): void {
    this.clock.stop(this.#timer);
    this.#startedAt = this.clock.now();
    this.#timer = this.clock.start('timeoutMs', Math.max(0, this.#leftMs), this.onOver);
  }

  clear(): void {
    this.clock.stop(this.#timer);
  }
}
