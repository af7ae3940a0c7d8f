import type { RunFailure } from 'nest-agent-query-client';
import type { TimedOption, Timer } from '../../platform/clock.js';
import type { LiveRun, RunnerServices } from '../runner-services.js';

/** Limits how long a handler may take. While slow followers hold it back, another limit counts. */
export class TimeLimit {
  #timer: Timer | undefined;
  /** Since when the limit counts. */
  #startedAt: number | undefined;
  #leftMs: number;
  #isSuspended = false;

  constructor(
    private readonly services: RunnerServices,
    private readonly run: LiveRun,
  ) {
    this.#leftMs = services.options.timeoutMs;
  }

  start(): void {
    if (this.#isSuspended) return;
    const seconds = this.services.options.timeoutMs / 1000;
    const message = `The run was stopped after ${seconds} s, the time limit of a run.`;
    this.#stopCounting();
    this.#startedAt = this.services.clock.now();
    this.#limit('timeoutMs', this.#leftMs, { code: 'run_timeout', message });
  }

  /** Slow followers hold the handler back until `start`. */
  pause(): void {
    if (this.#isSuspended) return;
    const { backpressureMs } = this.services.options;
    const message = `The run was stopped: its followers have not read for ${backpressureMs / 1000} s.`;
    this.#stopCounting();
    this.#limit('backpressureMs', backpressureMs, { code: 'followers_stalled', message });
  }

  /** The run asks: no limit counts until `resume`. */
  suspend(): void {
    this.#isSuspended = true;
    this.#stopCounting();
    this.clear();
  }

  resume(): void {
    this.#isSuspended = false;
    this.start();
  }

  clear(): void {
    this.services.clock.stop(this.#timer);
  }

  #stopCounting(): void {
    if (this.#startedAt === undefined) return;
    this.#leftMs = Math.max(0, this.#leftMs - (this.services.clock.now() - this.#startedAt));
    this.#startedAt = undefined;
  }

  #limit(option: TimedOption, ms: number, error: RunFailure): void {
    if (this.run.hasEnded) return;
    this.clear();
    this.#timer = this.services.clock.start(option, ms, () => this.run.stop({ status: 'failed', error }));
  }
}
