import type { Timer } from '../platform/clock.js';
import type { Runner } from './one/runner.js';
import type { RunnerServices } from './runner-services.js';
import { textForLog } from '../platform/text-for-log.js';

/** How long the handler of a run that asks waits in this process, if it can be called again; and how often that is looked at. */
const PARK_MS = 60_000;
const PARK_TICK_MS = 5_000;

/** The runs that ask, and whose handler waits for the answers in this process. They have no slot. */
export class AskingRunners {
  /** Since when each asks, on the clock of the service; and whether its handler can be called again. */
  readonly #since = new Map<Runner, { since: number; survives: boolean }>();
  #timer: Timer | undefined;

  /** @param onParked called with a run that does not belong to this process any more */
  constructor(
    private readonly services: RunnerServices,
    private readonly onParked: (runner: Runner) => void,
  ) {}

  get size(): number {
    return this.#since.size;
  }

  get all(): Iterable<Runner> {
    return this.#since.keys();
  }

  has(runner: Runner): boolean {
    return this.#since.has(runner);
  }

  add(runner: Runner, survives: boolean): void {
    const { clock } = this.services;
    this.#since.set(runner, { since: clock.now(), survives });
    // One for all of them.
    this.#timer ??= clock.repeat('parkMs', PARK_TICK_MS, () => void this.park(PARK_MS));
  }

  delete(runner: Runner): void {
    if (this.#since.delete(runner) && this.#since.size === 0) this.close();
  }

  /**
   * Parks the runs that have asked for so long: their handlers are called again when the answers come.
   *
   * @returns those whose handler cannot be called again
   */
  async park(afterMs = 0): Promise<Runner[]> {
    const old = this.services.clock.now() - afterMs;
    const runners = [...this.#since].filter(([, { since }]) => since <= old);
    // The store is not asked in vain about the others, again and again.
    const parking = runners.map(async ([runner, { survives }]) => survives && this.#park(runner));
    const parked = await Promise.all(parking);
    for (const [index, [runner]] of runners.entries()) if (parked[index]) this.onParked(runner);
    return runners.map(([runner]) => runner).filter((_, index) => !parked[index]);
  }

  close(): void {
    this.services.clock.stop(this.#timer);
    this.#timer = undefined;
  }

  /** A run that cannot be parked in an outage is tried again later. */
  async #park(runner: Runner): Promise<boolean> {
    const { store, logger } = this.services;
    try {
      return await store.inputs!.park(runner);
    } catch (error) {
      logger.warn(`Run ${runner.id} asks, and could not be parked: ${textForLog((error as Error).message)}`);
      return false;
    }
  }
}
