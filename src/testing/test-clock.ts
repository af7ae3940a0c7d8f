import { setImmediate } from 'node:timers/promises';
import { Clock, type TimedOption, type Timer } from '../query/index.js';

interface TestTimer {
  option: TimedOption;
  at: number;
  callback: () => void;
  everyMs: number | undefined;
}

/**
 * A clock that stands still until the test moves it. It measures the times of the options `runs.timeoutMs`,
 * `runs.backpressureMs`, `runs.disconnect.graceMs`, `runs.stopDeadlineMs`, `streams.keepAliveMs` and `streams.holdMs`, how long
 * the handler of a run that asks waits in this process (`parkMs`), how long an answer may be checked (`schemaMs`), how long an
 * endpoint of webhooks may take to answer (`webhookMs`), and when webhooks that are due are looked for (`webhookLookMs`); no
 * others.
 *
 * @example
 * const clock = new TestClock();
 * const testing = await Test.createTestingModule({ imports: [AppModule] })
 *   .overrideProvider(Clock)
 *   .useValue(clock)
 *   .compile();
 * // A run is executing, and its only follower leaves.
 * await clock.pass('graceMs');
 */
export class TestClock extends Clock {
  #now = 0;
  readonly #timers = new Set<TestTimer>();
  #onStarted: (() => void)[] = [];

  override now(): number {
    return this.#now;
  }

  override start(option: TimedOption, ms: number, callback: () => void): Timer {
    return this.#add({ option, at: this.#now + ms, callback, everyMs: undefined });
  }

  override startComputing(option: TimedOption, ms: number, callback: () => void): Timer {
    return this.start(option, ms, callback);
  }

  override repeat(option: TimedOption, ms: number, callback: () => void): Timer {
    return this.#add({ option, at: this.#now + ms, callback, everyMs: ms });
  }

  override stop(timer: Timer | undefined): void {
    this.#timers.delete(timer as TestTimer);
  }

  /** The milliseconds that are left of each time of an option that is measured now, shortest first. */
  left(option: TimedOption): number[] {
    return this.#of(option).map(({ at }) => at - this.#now);
  }

  /**
   * Lets time pass: what is due is called, in the order of its times.
   *
   * @param ms milliseconds
   */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (let next = this.#next(); next && next.at <= end; next = this.#next()) {
      this.#now = Math.max(this.#now, next.at);
      if (next.everyMs === undefined) this.#timers.delete(next);
      else next.at += next.everyMs;
      next.callback();
      // What the call has begun may start or stop timers.
      await setImmediate();
    }
    this.#now = end;
  }

  /**
   * Waits until a time of this option is measured, for example until the last follower of a run has left, and lets it pass.
   * Of several, the one that ends first.
   */
  async pass(option: Exclude<TimedOption, 'keepAliveMs'>): Promise<void> {
    while (this.#of(option).length === 0) {
      await new Promise<void>((resolve) => this.#onStarted.push(resolve));
    }
    await this.advance(this.#of(option)[0]!.at - this.#now);
  }

  #add(timer: TestTimer): TestTimer {
    this.#timers.add(timer);
    for (const onStarted of this.#onStarted.splice(0)) onStarted();
    return timer;
  }

  #of(option: TimedOption): TestTimer[] {
    return this.#sorted().filter((timer) => timer.option === option);
  }

  #next(): TestTimer | undefined {
    return this.#sorted()[0];
  }

  /** Of timers that end at the same time, the one that was started first comes first. */
  #sorted(): TestTimer[] {
    return [...this.#timers].sort((one, other) => one.at - other.at);
  }
}
