import { INTERRUPTED } from '../contract/envelopes.js';
import { settlesWithin } from '../platform/deadline.js';
import type { RunRecord } from '../ports/run-store.js';
import type { Runner, RunnerEvents } from './runner.js';

/** The present load of the service. */
export interface Load {
  /** Runs whose handler was called. */
  running: number;
  /** Runs in the queue of their session, or without a slot. */
  waiting: number;
  /** Followers of all runs. */
  followers: number;
  /** Handlers that have missed their stop deadline and still execute. */
  overdue: number;
}

/** When the service shuts down: how long the store may take to record the ends of runs, and to close. */
export const STORE_DEADLINE_MS = 2_000;

/**
 * How long a handler that missed its stop deadline keeps its slot. Without this bound, handlers that never stop would end the
 * service; without the slot, they would exceed the limit of concurrent handlers.
 */
const OVERDUE_SLOT_MS = 60_000;

/** The runs that are alive in this process, and the slots in which they execute. */
export class Scheduler implements RunnerEvents {
  readonly #alive = new Map<string, Runner>();
  /** Runs that may start as soon as there is a free slot. */
  readonly #ready = new Set<Runner>();
  readonly #running = new Set<Runner>();
  /** Runners whose handler missed its stop deadline, each with the timer that frees its slot. */
  readonly #overdue = new Map<Runner, NodeJS.Timeout | undefined>();
  /** Runs that have ended while they had followers, in the order of their ends. */
  readonly #followed = new Set<Runner>();
  /** Slots of overdue handlers. */
  #keptSlots = 0;
  #isClosed = false;
  #onIdle: (() => void) | undefined;

  /**
   * @param slots how many runs may execute at once
   * @param onPromoted called for a promoted run that is not alive here yet
   */
  constructor(
    private readonly slots: number,
    private readonly onPromoted: (runId: string) => void,
  ) {}

  get(runId: string): Runner | undefined {
    return this.#alive.get(runId);
  }

  /** How many slots are taken: by runs that execute, and by overdue handlers. */
  get takenSlots(): number {
    return this.#running.size + this.#keptSlots;
  }

  /** How many runs wait. */
  get waiting(): number {
    return this.#alive.size - this.#running.size;
  }

  /** Whether there is no free slot. */
  get isFull(): boolean {
    return this.takenSlots >= this.slots;
  }

  /** Whether the drain is over: no run is dispatched any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  load(): Load {
    let followers = 0;
    for (const runner of this.#alive.values()) followers += runner.followers.size;
    return { running: this.#running.size, waiting: this.waiting, followers, overdue: this.#overdue.size };
  }

  /** Resolves when the followers of the ended runs of a session have left, which they do at the end of the log. */
  async unfollowed(owner: string, sessionId: string): Promise<void> {
    const ended = [...this.#followed].filter((runner) => runner.isOf(owner, sessionId));
    await Promise.all(ended.map(({ followers }) => followers.emptied()));
  }

  add(runner: Runner): void {
    this.#alive.set(runner.id, runner);
  }

  /** Drops a run: the store did not admit it, or keeps it for another process. */
  drop(runner: Runner): void {
    this.#remove(runner);
    runner.drop();
  }

  /** Starts a run that no other run of its session precedes: at once, or as soon as there is a free slot. */
  dispatch(runner: Runner): void {
    if (this.#isClosed) return;
    if (!this.isFull) return this.#start(runner);
    this.#ready.add(runner);
    runner.announce(`Waiting for a slot: ${this.takenSlots} handlers are executing, which is the limit.`);
  }

  /** Part of `RunnerEvents`. */
  finished(runner: Runner, promoted: RunRecord | undefined): void {
    this.#remove(runner);
    this.#keepFollowed(runner);
    if (this.#overdue.has(runner)) this.#keepSlot(runner);
    // Runs that wait for a slot come first: a session with a long queue would keep its slot forever.
    this.#fillSlots();
    if (promoted) this.#promote(promoted);
  }

  /** Part of `RunnerEvents`. */
  overdue(runner: Runner): void {
    this.#overdue.set(runner, undefined);
  }

  /** Part of `RunnerEvents`. */
  stoppedLate(runner: Runner): void {
    const timer = this.#overdue.get(runner);
    this.#overdue.delete(runner);
    if (!timer) return;
    clearTimeout(timer);
    this.#keptSlots--;
    this.#fillSlots();
  }

  /**
   * Gives the runs some time to end, and then stops those that execute.
   *
   * @param drainMs how long runs may continue
   * @param stopDeadlineMs how long their handlers may take to stop after that
   * @param keepsWaiting whether the store keeps waiting runs for the next process; if not, they are stopped too
   */
  async drain(drainMs: number, stopDeadlineMs: number, keepsWaiting: boolean): Promise<void> {
    const idle = this.#idle();
    if (await settlesWithin(drainMs, idle)) return;

    this.#isClosed = true;
    for (const runner of [...this.#alive.values()]) {
      if (this.#running.has(runner) || !keepsWaiting) runner.stop(INTERRUPTED);
      else this.drop(runner);
    }
    await settlesWithin(stopDeadlineMs + STORE_DEADLINE_MS, idle);
    for (const runner of [...this.#alive.values()]) this.drop(runner);
    for (const timer of this.#overdue.values()) clearTimeout(timer);
  }

  /** The followers of a run that has ended read what is left of the log, and leave. */
  #keepFollowed(runner: Runner): void {
    for (const oldest of this.#followed) {
      if (oldest.followers.size > 0) break;
      this.#followed.delete(oldest);
    }
    if (runner.followers.size > 0) this.#followed.add(runner);
  }

  /** The run has ended, but its handler still executes. */
  #keepSlot(runner: Runner): void {
    const freeSlot = () => {
      this.#keptSlots--;
      this.#overdue.set(runner, undefined);
      this.#fillSlots();
    };
    this.#keptSlots++;
    this.#overdue.set(runner, setTimeout(freeSlot, OVERDUE_SLOT_MS).unref());
  }

  #promote(run: RunRecord): void {
    const runner = this.#alive.get(run.id);
    if (!runner) return this.onPromoted(run.id);
    // The store may promote the run before it reports the admission.
    runner.admit(run);
    this.dispatch(runner);
  }

  #remove(runner: Runner): void {
    this.#alive.delete(runner.id);
    this.#running.delete(runner);
    this.#ready.delete(runner);
    if (this.#alive.size === 0) this.#onIdle?.();
  }

  #fillSlots(): void {
    for (const runner of this.#ready) {
      if (this.isFull) return;
      this.#ready.delete(runner);
      this.#start(runner);
    }
  }

  #start(runner: Runner): void {
    this.#running.add(runner);
    void runner.start();
  }

  /** Resolves when no run is alive. */
  async #idle(): Promise<void> {
    if (this.#alive.size > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
  }
}
