import type { Runner } from './runner.js';

/** What the service is doing at present. */
export interface Load {
  /** Runs whose handler has been called. */
  running: number;
  /** Runs in the line of their session or of the service. */
  waiting: number;
  followers: number;
  /** Handlers that go on although their run has ended. */
  overdue: number;
}

/** The runs that are alive in this process: those that execute, and those that wait for their session or for a place. */
export class Scheduler {
  readonly #alive = new Map<string, Runner>();
  /** Those that may start as soon as there is a place. */
  readonly #ready = new Set<Runner>();
  readonly #running = new Set<Runner>();
  #overdue = 0;
  #isClosed = false;
  #onIdle: (() => void) | undefined;

  /** @param places how many may execute at once */
  constructor(private readonly places: number) {}

  get(runId: string): Runner | undefined {
    return this.#alive.get(runId);
  }

  all(): Runner[] {
    return [...this.#alive.values()];
  }

  /** How many execute. */
  get running(): number {
    return this.#running.size;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#alive.size - this.#running.size;
  }

  get isFull(): boolean {
    return this.#running.size >= this.places;
  }

  /** Whether nothing is dispatched any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  isRunning(runner: Runner): boolean {
    return this.#running.has(runner);
  }

  load(): Load {
    let followers = 0;
    for (const runner of this.#alive.values()) followers += runner.followers.size;
    return { running: this.running, waiting: this.waiting, followers, overdue: this.#overdue };
  }

  add(runner: Runner): void {
    this.#alive.set(runner.id, runner);
  }

  /** Its turn has come: starts it, if there is a place, or as soon as there is one. */
  dispatch(runner: Runner): void {
    if (this.#isClosed) return;
    if (!this.isFull) return this.#start(runner);
    this.#ready.add(runner);
    runner.announce(`Waiting for a place: ${this.running} runs are under way, as many as may.`);
  }

  remove(runner: Runner): void {
    this.#alive.delete(runner.id);
    this.#running.delete(runner);
    this.#ready.delete(runner);
    if (this.#alive.size === 0) this.#onIdle?.();
  }

  /** Starts those that are ready, as far as there are places. */
  fill(): void {
    for (const runner of this.#ready) {
      if (this.isFull) return;
      this.#ready.delete(runner);
      this.#start(runner);
    }
  }

  /** A handler goes on after its run has ended (1), or has stopped at last (-1). */
  count(overdue: 1 | -1): void {
    this.#overdue += overdue;
  }

  /** Resolves when none is alive. */
  async idle(): Promise<void> {
    if (this.#alive.size > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
  }

  /** Nothing is dispatched any more. */
  close(): void {
    this.#isClosed = true;
  }

  #start(runner: Runner): void {
    this.#running.add(runner);
    void runner.start();
  }
}
