import process from 'node:process';

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

  /**
   * Calls a function once, when `ms` milliseconds have passed in which this process has used the processor for as long. On a busy
   * machine that is later than `start`: work that only waits for the processor is not taken for endless.
   */
  startComputing(_option: TimedOption, ms: number, callback: () => void): Timer {
    const [begun, before] = [performance.now(), process.cpuUsage()];
    const timer = setInterval(() => {
      const { user, system } = process.cpuUsage(before);
      if (performance.now() - begun < ms || (user + system) / 1000 < ms) return;
      clearInterval(timer);
      callback();
    }, ms / 8);
    return timer;
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
