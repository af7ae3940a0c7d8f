/** The options whose times a clock measures. */
export type TimedOption =
  | 'timeoutMs'
  | 'backpressureMs'
  | 'graceMs'
  | 'stopDeadlineMs'
  | 'keepAliveMs'
  | 'holdMs'
  | 'parkMs'
  | 'schemaMs'
  | 'webhookMs'
  | 'webhookLookMs';

/** What a clock has started. */
export type Timer = object;

/**
 * Measures how long runs and streams may take. A test replaces it, so that it need not wait.
 *
 * Times that are kept or shown, such as `createdAt`, are not from this clock.
 *
 * @example
 * Test.createTestingModule({ imports: [AppModule] }).overrideProvider(Clock).useValue(new TestClock())
 */
export class Clock {
  /** Returns milliseconds since a moment that never changes. */
  now(): number {
    return performance.now();
  }

  /** Calls a function once, after `ms` milliseconds, the time that the option sets. */
  start(_option: TimedOption, ms: number, callback: () => void): Timer {
    return setTimeout(callback, ms);
  }

  /** Calls a function again and again. It does not keep the process alive. Otherwise as `start`. */
  repeat(_option: TimedOption, ms: number, callback: () => void): Timer {
    return setInterval(callback, ms).unref();
  }

  /** Stops what `start` or `repeat` has returned. Can be called again. */
  stop(timer: Timer | undefined): void {
    clearTimeout(timer as NodeJS.Timeout | undefined);
  }
}
