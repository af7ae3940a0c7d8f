import type { Logger } from '@nestjs/common';
import type { RunEnd } from 'nest-agent-query-client';
import { INTERRUPTED } from '../contract/envelopes.js';
import { QueryError } from '../contract/errors.js';
import { settlesWithin } from '../platform/deadline.js';
import { loggerOf } from '../platform/module-logger.js';
import type { DispatchReceiver } from '../ports/other-processes.js';
import { type Awaitable, isThenable } from '../ports/file-store.js';
import type { RunRecord } from '../ports/run-store.js';
import { AskingRunners } from './asking-runners.js';
import { OverdueHandlers } from './overdue-handlers.js';
import type { Submission } from './one/execution.js';
import { Runner } from './one/runner.js';
import type { NewRun, RunnerEvents, RunnerServices } from './runner-services.js';
import type { Load } from './load.js';
import { stackForLog } from '../platform/text-for-log.js';

/** When the service shuts down: how long the store may take to record the ends of runs, and to close. */
export const STORE_DEADLINE_MS = 2_000;

/** The most runs that are taken in one step. A limit, because slots are kept for them until the store has answered. */
const TAKEN_AT_ONCE = 64;

/**
 * The runs that are alive in this process, and the slots in which they execute.
 *
 * A query that finds a free slot keeps it during its admission (`reserve`), and starts with it. Every other run waits in the
 * store until a process takes it.
 */
export class Scheduler implements RunnerEvents<Runner>, DispatchReceiver {
  readonly #alive = new Map<string, Runner>();
  /** Those that execute, and those that another process owns by now but whose handler has not stopped. */
  readonly #running = new Set<Runner>();
  /** Those whose handler waits for answers. */
  readonly #asking: AskingRunners;
  readonly #overdue = new OverdueHandlers(() => this.fill());
  readonly #slots: number;
  /** Slots for runs that are being admitted or taken. */
  #reservedSlots = 0;
  /** Slots that admissions wait for: they come before runs that are taken next. */
  #awaitedSlots = 0;
  /** Whether runs may wait in the store that this process can take. */
  #hasReady = false;
  #taking: Promise<void> | undefined;
  #slotWaiters: (() => void)[] = [];
  #isClosed = false;
  #onIdle: (() => void) | undefined;
  readonly #logger: Logger;

  constructor(private readonly services: RunnerServices) {
    const { role, runs, name } = services.settings;
    this.#slots = role === 'api' ? 0 : runs.maxRunning;
    this.#logger = loggerOf('Scheduler', name);
    this.#asking = new AskingRunners(services, (runner) => this.lose(runner.id));
  }

  get(runId: string): Runner | undefined {
    return this.#alive.get(runId);
  }

  /** The runs that wait, and that this process has admitted. */
  get waiting(): Runner[] {
    return [...this.#alive.values()].filter(({ isWaiting }) => isWaiting);
  }

  /** The runs that wait or ask in this process. */
  get idle(): Runner[] {
    return [...this.waiting, ...this.#asking.all];
  }

  /** How many slots are taken: by runs that execute, and by overdue handlers. */
  get takenSlots(): number {
    return this.#running.size + this.#overdue.slots;
  }

  load(): Load {
    const running = this.#running.size;
    const ending = [...this.#running].filter(({ isOverdue }) => isOverdue);
    return {
      running,
      waiting: [...this.#alive.values()].filter((it) => !this.#running.has(it) && !this.#asking.has(it))
        .length,
      asking: this.#asking.size,
      followers: this.services.groups.size,
      overdue: this.#overdue.size + ending.length,
    };
  }

  /** Makes the runner of a run, which is alive in this process from now on. */
  add(run: NewRun, submission: Submission): Runner {
    const runner = new Runner(this.services, this, run, submission);
    this.#alive.set(run.id, runner);
    return runner;
  }

  /**
   * Keeps a slot for a run that is being admitted. Returns false if there is none; otherwise call `start` or `release`.
   *
   * While runs are being taken, free slots are kept for them. It is not known yet whether they need them: then it waits.
   */
  reserve(): Awaitable<boolean> {
    const isOnlyReserved = this.#freeSlots === 0 && this.takenSlots < this.#slots;
    if (!isOnlyReserved || !this.#taking || this.#isClosed) return this.#reserveNow();
    this.#awaitedSlots++;
    return this.#taking.then(() => {
      this.#awaitedSlots--;
      return this.#reserveNow();
    });
  }

  release(): void {
    this.#reservedSlots--;
    this.fill();
  }

  /** Starts a run in a slot that was kept for it. The store has recorded that this process executes it, or does so now. */
  start(runner: Runner, run: RunRecord): void {
    this.#reservedSlots--;
    this.#running.add(runner);
    if (runner.isHandling) runner.resume(run);
    else void runner.start(run);
    this.#asking.delete(runner);
  }

  /** Runs may wait that this process can take. */
  ready(): void {
    this.#hasReady = true;
    this.fill();
  }

  /** A run waits. If this process has no slot for it, another one may. */
  enqueued(): void {
    this.ready();
    if (this.#hasReady) this.services.dispatcher.offer();
  }

  async freeSlot(): Promise<void> {
    if (this.#isClosed || this.#freeSlots === 0)
      await new Promise<void>((resolve) => this.#slotWaiters.push(resolve));
  }

  async take(): Promise<boolean> {
    this.ready();
    while (this.#taking) await this.#taking;
    return this.#hasReady;
  }

  fill(): void {
    if (this.#taking || this.#isClosed) return;
    if (!this.#hasReady) return this.#announceSlot();
    const count = Math.min(this.#freeSlots - this.#awaitedSlots, TAKEN_AT_ONCE);
    if (count <= 0) return;
    this.#hasReady = false;
    this.#reservedSlots += count;
    const { store, settings } = this.services;
    const start = (runs: RunRecord[]) => this.#startTaken(runs, count);
    let taken: Awaitable<RunRecord[]>;
    try {
      taken = store.take(count, settings.name);
    } catch (error) {
      taken = Promise.reject(error);
    }
    if (!isThenable(taken)) return start(taken);
    this.#taking = Promise.resolve(taken).then(start, (error) => start(this.#takenAfter(error)));
  }

  /** Drops a run: the store did not admit it, or another process has it. */
  drop(runner: Runner): void {
    this.#remove(runner);
    runner.drop();
  }

  /**
   * This process does not own a run any more. Its handler keeps the slot until it has stopped.
   *
   * @param end how the run was ended while it asked. Default: another process owns it
   */
  lose(runId: string, end?: RunEnd): void {
    const runner = this.#alive.get(runId);
    this.#alive.delete(runId);
    runner?.lose(end);
  }

  paused(runner: Runner, survives: boolean): void {
    this.#running.delete(runner);
    this.#asking.add(runner, survives);
    // Another run of the owner may have become ready.
    this.enqueued();
  }

  finished(runner: Runner, isAnotherReady: boolean): void {
    this.#remove(runner);
    if (isAnotherReady) this.enqueued();
    else this.fill();
  }

  stoppedLate(runner: Runner): void {
    this.#overdue.stopped(runner);
  }

  /**
   * Gives the runs `drainMs` to end, and then stops those that execute. Runs that wait are taken by the other processes at once;
   * or the store keeps those that do not start in time for the next process; or they are stopped.
   */
  async drain(): Promise<void> {
    const { store, dispatcher, options } = this.services;
    const { isShared } = store.signals;
    const isKept = isShared || store.durable;
    if (isShared) {
      this.#isClosed = true;
      await this.#taking;
    }
    // No answer can come to this process any more, but to another one.
    const unparked = await this.#asking.park();
    // One that was taken meanwhile has its time as any other.
    if (!isShared) for (const runner of unparked) if (runner.isAsking) runner.stop(INTERRUPTED);
    if (isShared) {
      for (const runner of this.waiting) this.drop(runner);
      dispatcher.offer();
    }
    if (!isKept) for (const runner of [...this.#alive.values()]) runner.disconnects.cancelUnlessFollowed();
    const idle = this.#idle();
    if (!(await settlesWithin(options.drainMs, idle))) {
      this.#isClosed = true;
      await this.#taking;
      for (const runner of [...this.#alive.values()]) {
        if (!isKept || runner.isAsking) runner.stop(INTERRUPTED);
        else if (!this.#running.has(runner)) this.#disconnect(runner);
        else if (runner.mayRestart) runner.handOver();
        else runner.stop(INTERRUPTED);
      }
      await settlesWithin(options.stopDeadlineMs + STORE_DEADLINE_MS, idle);
      for (const runner of [...this.#alive.values()]) this.#disconnect(runner);
    }
    this.#isClosed = true;
    this.#overdue.close();
    this.#asking.close();
  }

  #disconnect(runner: Runner): void {
    runner.disconnects.ignore();
    runner.followers.disconnectAll();
    this.drop(runner);
  }

  /** How many slots are neither taken nor reserved. */
  get #freeSlots(): number {
    return Math.max(0, this.#slots - this.takenSlots - this.#reservedSlots);
  }

  #reserveNow(): boolean {
    if (this.#isClosed || this.#freeSlots === 0) return false;
    this.#reservedSlots++;
    return true;
  }

  /** What was taken if the store has failed. It tells when it can be used again. */
  #takenAfter(error: unknown): RunRecord[] {
    const isOutage = error instanceof QueryError && error.code === 'unavailable';
    if (!isOutage) this.#logger.error('Waiting runs cannot be started.', stackForLog(error));
    return [];
  }

  #startTaken(taken: RunRecord[], count: number): void {
    this.#taking = undefined;
    this.#reservedSlots -= count - taken.length;
    if (taken.length === count) this.#hasReady = true;
    for (const run of taken) {
      // The runner of a run that another process has admitted begins here.
      const runner = this.get(run.id) ?? this.add(run, { trace: this.services.traces.taken(run) });
      this.start(runner, run);
    }
    this.fill();
  }

  #announceSlot(): void {
    if (this.#freeSlots === 0) return;
    for (const resolve of this.#slotWaiters.splice(0)) resolve();
  }

  /** A run has left this process. If its handler is overdue, that keeps the slot for some time. */
  #remove(runner: Runner): void {
    if (this.#alive.get(runner.id) === runner) this.#alive.delete(runner.id);
    const isCounted = this.#running.delete(runner) || this.#asking.has(runner);
    this.#asking.delete(runner);
    if (isCounted && runner.isOverdue) this.#overdue.add(runner);
    if (this.#alive.size === 0) this.#onIdle?.();
  }

  async #idle(): Promise<void> {
    if (this.#alive.size > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
  }
}
