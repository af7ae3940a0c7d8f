/** The options whose times a clock measures. */
export type TimedOption = 'timeoutMs' | 'backpressureMs' | 'graceMs' | 'stopDeadlineMs' | 'keepAliveMs';

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
export abstract class Clock {
  /** Returns milliseconds since a moment that never changes. */
  abstract now(): number;

  /** Calls a function once, after `ms` milliseconds, the time that the option sets. */
  abstract start(option: TimedOption, ms: number, callback: () => void): Timer;

  /** Calls a function again and again. It does not keep the process alive. Otherwise as `start`. */
  abstract repeat(option: TimedOption, ms: number, callback: () => void): Timer;

  /** Stops what `start` or `repeat` has returned. Can be called again. */
  abstract stop(timer: Timer | undefined): void;
}

export class SystemClock extends Clock {
  now(): number {
    return performance.now();
  }

  start(_option: TimedOption, ms: number, callback: () => void): Timer {
    return setTimeout(callback, ms);
  }

  repeat(_option: TimedOption, ms: number, callback: () => void): Timer {
    return setInterval(callback, ms).unref();
  }

  stop(timer: Timer | undefined): void {
    clearTimeout(timer as NodeJS.Timeout | undefined);
  }
}
