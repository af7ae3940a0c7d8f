import type { RunEnd } from 'nest-agent-query-client';
import type { RunOptions } from '../options/query.options.js';
import type { Clock, Timer } from '../platform/clock.js';

/** Limits how long a handler may take. While slow followers hold it back, another limit counts. */
export class TimeLimit {
  #timer: Timer | undefined;
  #startedAt = 0;
  #leftMs: number;
  #isOver = false;

  /** @param stop called once, when a limit is exceeded */
  constructor(
    private readonly clock: Clock,
    private readonly options: RunOptions,
    private readonly stop: (end: RunEnd) => void,
  ) {
    this.#leftMs = options.timeoutMs;
  }

  /** The time of the handler begins, or continues. */
  start(): void {
    const message = `The run was stopped after ${this.options.timeoutMs / 1000} s, the time limit of a run.`;
    this.#startedAt = this.clock.now();
    this.#limit('timeoutMs', this.#leftMs, { code: 'run_timeout', message });
  }

  /** Slow followers hold the handler back until `start`. */
  pause(): void {
    const { backpressureMs } = this.options;
    const message = `The run was stopped: its followers have not read for ${backpressureMs / 1000} s.`;
    this.#leftMs = Math.max(0, this.#leftMs - (this.clock.now() - this.#startedAt));
    this.#limit('backpressureMs', backpressureMs, { code: 'followers_stalled', message });
  }

  /** The end of the run is decided: nothing counts any more. */
  clear(): void {
    this.#isOver = true;
    this.clock.stop(this.#timer);
  }

  #limit(
    option: 'timeoutMs' | 'backpressureMs',
    ms: number,
    error: { code: 'run_timeout' | 'followers_stalled'; message: string },
  ): void {
    if (this.#isOver) return;
    this.clock.stop(this.#timer);
    this.#timer = this.clock.start(option, ms, () => this.stop({ status: 'failed', error }));
  }
}
