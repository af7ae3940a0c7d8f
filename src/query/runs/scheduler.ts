import type { Logger } from '@nestjs/common';
import { INTERRUPTED } from '../contract/envelopes.js';
import { QueryError } from '../contract/errors.js';
import { settlesWithin } from '../platform/deadline.js';
import type { DispatchReceiver } from '../ports/other-processes.js';
import { type Awaitable, isThenable } from '../ports/file-store.js';
import type { RunRecord } from '../ports/run-store.js';
import type { Load } from './load.js';
import type { Runner, RunnerEvents } from './runner.js';
import { Slots } from './slots.js';

/** When the service shuts down: how long the store may take to record the ends of runs, and to close. */
export const STORE_DEADLINE_MS = 2_000;

/** The most runs that are taken in one step. A limit, because slots are kept for them until the store has answered. */
const TAKEN_AT_ONCE = 64;

/** What the scheduler needs of the service. */
export interface SchedulerEvents {
  /** Takes waiting runs from the store; see `RunStore.take`. */
  take(count: number): Awaitable<RunRecord[]>;
  /** Makes a runner for a run that was taken, and that another process has admitted. */
  runnerOf(run: RunRecord): Runner;
  /** Runs are ready, but this process has no slot for them. */
  offer(): void;
}

/**
 * The runs that are alive in this process, and the slots in which they execute.
 *
 * A query that finds a free slot keeps it during its admission (`reserve`), and starts with it. Every other run waits in the
 * store until a process takes it.
 */
export class Scheduler implements RunnerEvents, DispatchReceiver {
  readonly #alive = new Map<string, Runner>();
  readonly #slots: Slots;
  /** Slots that admissions wait for: they come before runs that are taken next. */
  #awaitedSlots = 0;
  /** Whether runs may wait in the store that this process can take. */
  #hasReady = false;
  #taking: Promise<void> | undefined;
  #slotWaiters: (() => void)[] = [];
  #isClosed = false;
  #onIdle: (() => void) | undefined;

  constructor(
    slots: number,
    private readonly events: SchedulerEvents,
    private readonly logger: Logger,
  ) {
    this.#slots = new Slots(slots, () => this.fill());
  }

  get(runId: string): Runner | undefined {
    return this.#alive.get(runId);
  }

  /** The runs that wait, and that this process has admitted. */
  get waiting(): Runner[] {
    return [...this.#alive.values()].filter((runner) => !this.#slots.executes(runner));
  }

  /** How many slots are taken: by runs that execute, and by overdue handlers. */
  get takenSlots(): number {
    return this.#slots.taken;
  }

  load(): Omit<Load, 'followers'> {
    const { running, overdue } = this.#slots;
    return { running, waiting: this.#alive.size - running, overdue };
  }

  add(runner: Runner): void {
    this.#alive.set(runner.id, runner);
  }

  /**
   * Keeps a slot for a run that is being admitted. Returns false if there is none; otherwise call `start` or `release`.
   *
   * While runs are being taken, free slots are kept for them. It is not known yet whether they need them: then it waits.
   */
  reserve(): Awaitable<boolean> {
    const mayBecomeFree = this.#slots.mayBecomeFree && !this.#isClosed;
    if (this.#slots.free === 0 && mayBecomeFree && this.#taking) return this.#reserveAfter(this.#taking);
    return this.#reserveNow();
  }

  /** Gives a slot back that was kept. */
  release(): void {
    this.#slots.release(1);
    this.fill();
  }

  /** Starts a run in a slot that was kept for it. The store has recorded that this process executes the run. */
  start(runner: Runner, run: RunRecord): void {
    this.#slots.start(runner);
    void runner.start(run);
  }

  /** Runs may wait that this process can take. */
  ready(): void {
    this.#hasReady = true;
    this.fill();
  }

  /** A run waits. If this process has no slot for it, another one may. */
  enqueued(): void {
    this.ready();
    if (this.#hasReady) this.events.offer();
  }

  async freeSlot(): Promise<void> {
    if (this.#isClosed || this.#slots.free === 0)
      await new Promise<void>((resolve) => this.#slotWaiters.push(resolve));
  }

  async take(): Promise<boolean> {
    this.ready();
    while (this.#taking) await this.#taking;
    return this.#hasReady;
  }

  /** Takes waiting runs, as long as there are free slots. */
  fill(): void {
    if (this.#taking || this.#isClosed) return;
    if (!this.#hasReady) return this.#announceSlot();
    const count = Math.min(this.#slots.free - this.#awaitedSlots, TAKEN_AT_ONCE);
    if (count <= 0) return;
    this.#hasReady = false;
    this.#slots.reserve(count);
    let taken: Awaitable<RunRecord[]>;
    try {
      taken = this.events.take(count);
    } catch (error) {
      taken = Promise.reject(error);
    }
    if (isThenable(taken)) this.#taking = this.#await(Promise.resolve(taken), count);
    else this.#startTaken(taken, count);
  }

  /** Drops a run: the store did not admit it, or another process has it. */
  drop(runner: Runner): void {
    this.#remove(runner);
    runner.drop();
  }

  /** Another process owns a run of this process now. Its handler keeps the slot until it has stopped. */
  lose(runId: string): void {
    const runner = this.#alive.get(runId);
    this.#alive.delete(runId);
    runner?.lose();
  }

  finished(runner: Runner, promoted: RunRecord | undefined): void {
    this.#remove(runner);
    if (promoted) this.enqueued();
    else this.fill();
  }

  overdue(runner: Runner): void {
    this.#slots.missedDeadline(runner);
  }

  stoppedLate(runner: Runner): void {
    if (this.#slots.stoppedLate(runner)) this.fill();
  }

  handedOver(): void {
    this.enqueued();
  }

  /**
   * Gives the runs some time to end, and then stops those that execute.
   *
   * @param drainMs how long runs may continue
   * @param stopDeadlineMs how long their handlers may take to stop after that
   * @param waitingRuns what becomes of the runs that wait: other processes take them at once; they are kept for the next
   * process, if they do not start within the time; or they are stopped
   */
  async drain(
    drainMs: number,
    stopDeadlineMs: number,
    waitingRuns: 'hand over' | 'keep' | 'stop',
  ): Promise<void> {
    if (waitingRuns === 'hand over') {
      this.#isClosed = true;
      await this.#taking;
      for (const runner of this.waiting) this.drop(runner);
      this.events.offer();
    }
    if (waitingRuns === 'stop')
      for (const runner of [...this.#alive.values()]) runner.disconnects.cancelUnlessFollowed();
    const idle = this.#idle();
    if (!(await settlesWithin(drainMs, idle))) {
      this.#isClosed = true;
      await this.#taking;
      for (const runner of [...this.#alive.values()]) {
        if (!this.#slots.executes(runner) && waitingRuns !== 'stop') this.#disconnect(runner);
        else if (runner.mayRestart && waitingRuns !== 'stop') runner.handOver();
        else runner.stop(INTERRUPTED);
      }
      await settlesWithin(stopDeadlineMs + STORE_DEADLINE_MS, idle);
      for (const runner of [...this.#alive.values()]) this.#disconnect(runner);
    }
    this.#isClosed = true;
    this.#slots.close();
  }

  #disconnect(runner: Runner): void {
    runner.disconnects.ignore();
    runner.followers.disconnectAll();
    this.drop(runner);
  }

  async #reserveAfter(taking: Promise<void>): Promise<boolean> {
    this.#awaitedSlots++;
    await taking;
    this.#awaitedSlots--;
    return this.#reserveNow();
  }

  #reserveNow(): boolean {
    if (this.#isClosed || this.#slots.free === 0) return false;
    this.#slots.reserve(1);
    return true;
  }

  async #await(taking: Promise<RunRecord[]>, count: number): Promise<void> {
    let taken: RunRecord[] = [];
    try {
      taken = await taking;
    } catch (error) {
      // The store tells when it can be used again.
      const isOutage = error instanceof QueryError && error.code === 'unavailable';
      if (!isOutage) this.logger.error('Waiting runs cannot be started.', (error as Error).stack);
    }
    this.#startTaken(taken, count);
  }

  #startTaken(taken: RunRecord[], count: number): void {
    this.#taking = undefined;
    this.#slots.release(count - taken.length);
    if (taken.length === count) this.#hasReady = true;
    for (const run of taken) {
      let runner = this.#alive.get(run.id);
      if (!runner) this.add((runner = this.events.runnerOf(run)));
      this.start(runner, run);
    }
    this.fill();
  }

  #announceSlot(): void {
    if (this.#slots.free === 0) return;
    for (const resolve of this.#slotWaiters.splice(0)) resolve();
  }

  #remove(runner: Runner): void {
    if (this.#alive.get(runner.id) === runner) this.#alive.delete(runner.id);
    this.#slots.end(runner);
    if (this.#alive.size === 0) this.#onIdle?.();
  }

  async #idle(): Promise<void> {
    if (this.#alive.size > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
  }
}
