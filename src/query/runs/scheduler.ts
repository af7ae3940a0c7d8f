import type { Logger } from '@nestjs/common';
import type { RunEnd } from 'nest-agent-query-client';
import { INTERRUPTED } from '../contract/envelopes.js';
import { QueryError } from '../contract/errors.js';
import { settlesWithin } from '../platform/deadline.js';
import { loggerOf } from '../platform/module-logger.js';
import { type Awaitable, isThenable } from '../ports/file-store.js';
import type { RunRecord } from '../ports/run-store.js';
import { AskingRunners } from './asking-runners.js';
import { OverdueHandlers } from './overdue-handlers.js';
import type { Submission } from './one/execution.js';
import { Runner } from './one/runner.js';
import type { NewRun, RunnerEvents, RunnerServices } from './runner-services.js';
import type { Load } from './load.js';
import { type Slot, Slots } from './slots.js';
import { stackForLog } from '../platform/text-for-log.js';

/** When the service shuts down: how long the store may take to record the ends of runs, and to close. */
export const STORE_DEADLINE_MS = 2_000;

/**
 * The runs that are alive in this process, and the slots in which they execute.
 *
 * A query that finds a free slot keeps it during its admission (`Slots.reserve`), and starts with it. Every other run waits in
 * the store until a process takes it.
 */
export class Scheduler implements RunnerEvents<Runner> {
  readonly slots: Slots<RunRecord>;
  readonly #alive = new Map<string, Runner>();
  /** The slots of those that execute, and of those that another process owns by now but whose handler has not stopped. */
  readonly #running = new Map<Runner, Slot>();
  /** Those whose handler waits for answers. */
  readonly #asking: AskingRunners;
  readonly #overdue = new OverdueHandlers();
  #onIdle: (() => void) | undefined;
  readonly #logger: Logger;

  constructor(private readonly services: RunnerServices) {
    const { role, runs, name } = services.settings;
    this.slots = new Slots(
      role === 'api' ? 0 : runs.maxRunning,
      (count) => this.#take(count),
      (run, slot) => this.#startTaken(run, slot),
    );
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
    const ending = [...this.#running.keys()].filter(({ isOverdue }) => isOverdue);
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
   * Starts a run. The store has recorded that this process executes it, or does so now.
   *
   * @param slot in which it executes, until its handler has stopped or it asks
   */
  start(runner: Runner, run: RunRecord, slot: Slot): void {
    this.#running.set(runner, slot);
    if (runner.isHandling) runner.resume(run);
    else void runner.start(run);
    this.#asking.delete(runner);
  }

  /**
   * A run waits. If this process has no slot for it, another one may.
   *
   * @param freed a slot that is released for it. Default: none
   * @param run the run, if it may have asked: then its handler may wait in another process, and only that one may take it
   */
  enqueued(freed?: Slot, run?: RunRecord): void {
    const { dispatcher, store } = this.services;
    this.slots.ready(freed);
    if (this.slots.hasReady) dispatcher.offer();
    if (run?.startedAt !== undefined && !this.#alive.has(run.id))
      store.signals.send({ type: 'news', runId: run.id });
  }

  /** Drops a run: the store did not admit it, or another process has it. */
  drop(runner: Runner): void {
    this.#remove(runner)?.release();
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
    const slot = this.#running.get(runner);
    this.#running.delete(runner);
    this.#asking.add(runner, survives);
    // Another run of the owner may have become ready.
    this.enqueued(slot);
  }

  finished(runner: Runner, next: RunRecord | undefined): void {
    const slot = this.#remove(runner);
    if (next) this.enqueued(slot, next);
    else slot?.release();
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
    if (isShared) await this.slots.close();
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
      await this.slots.close();
      for (const runner of [...this.#alive.values()]) {
        if (!isKept || runner.isAsking) runner.stop(INTERRUPTED);
        else if (!this.#running.has(runner)) this.#disconnect(runner);
        else if (runner.mayRestart) runner.handOver();
        else runner.stop(INTERRUPTED);
      }
      await settlesWithin(options.stopDeadlineMs + STORE_DEADLINE_MS, idle);
      for (const runner of [...this.#alive.values()]) this.#disconnect(runner);
    }
    void this.slots.close();
    this.#overdue.close();
    this.#asking.close();
  }

  #disconnect(runner: Runner): void {
    runner.disconnects.ignore();
    runner.followers.disconnectAll();
    this.drop(runner);
  }

  #take(count: number): Awaitable<RunRecord[]> {
    const { store, settings } = this.services;
    try {
      const taken = store.take(count, settings.name);
      return isThenable(taken) ? Promise.resolve(taken).catch((error) => this.#takenAfter(error)) : taken;
    } catch (error) {
      return this.#takenAfter(error);
    }
  }

  /** What was taken if the store has failed. It tells when it can be used again. */
  #takenAfter(error: unknown): RunRecord[] {
    const isOutage = error instanceof QueryError && error.code === 'unavailable';
    if (!isOutage) this.#logger.error('Waiting runs cannot be started.', stackForLog(error));
    return [];
  }

  #startTaken(run: RunRecord, slot: Slot): void {
    // The runner of a run that another process has admitted begins here.
    const runner = this.get(run.id) ?? this.add(run, { trace: this.services.traces.taken(run) });
    this.start(runner, run, slot);
  }

  /** A run has left this process. Returns its slot, unless its handler is overdue: that keeps it for some time. */
  #remove(runner: Runner): Slot | undefined {
    if (this.#alive.get(runner.id) === runner) this.#alive.delete(runner.id);
    const slot = this.#running.get(runner);
    const isOverdue = runner.isOverdue && (slot !== undefined || this.#asking.has(runner));
    this.#running.delete(runner);
    this.#asking.delete(runner);
    if (isOverdue) this.#overdue.add(runner, slot ?? this.slots.hold());
    if (this.#alive.size === 0) this.#onIdle?.();
    return isOverdue ? undefined : slot;
  }

  async #idle(): Promise<void> {
    if (this.#alive.size > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
  }
}
