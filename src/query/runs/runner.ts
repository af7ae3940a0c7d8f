import { INTERRUPTED } from '../contract/envelopes.js';
import { HandedOver } from '../contract/errors.js';
import type { RunEnd } from 'nest-agent-query-client';
import type { Followers } from '../event-log/followers.js';
import type { DisconnectPolicy } from '../options/query.options.js';
import type { Timer } from '../platform/clock.js';
import type { Query } from '../ports/agent-handler.js';
import type { Ended, RunRecord, RunRef } from '../ports/run-store.js';
import { Disconnects } from './disconnects.js';
import { Execution } from './execution.js';
import { reportFailure } from './failure.js';
import { Observation } from './observation.js';
import type { LiveRun, RunnerServices } from './runner-services.js';
import type { RunTrace } from '../ports/run-tracer.js';

/** What a runner reports. */
export interface RunnerEvents {
  /** The run has left this process. `promoted` is the run that is now first in the session's queue, if this one ended. */
  finished(runner: Runner, promoted: RunRecord | undefined): void;
  /** The handler has missed its stop deadline. */
  overdue(runner: Runner): void;
  /** An overdue handler has stopped. */
  stoppedLate(runner: Runner): void;
  handedOver(): void;
}

/** How a run left this process. */
export interface Ending {
  /** The run as the store ended it; undefined if this process did not end it. */
  run: RunRecord | undefined;
  /** Whether the handler has really stopped. */
  stopped: boolean;
}

/** Who records what becomes of a run that is stopped. */
type Outcome = 'finish' | 'hand over' | 'lost';

/**
 * One run that is alive in this process: its states, and what decides its end.
 *
 * ```text
 *   admitting ──admit──▶ waiting ──start──▶ running ──stop──▶ stopping ──finish──────▶ ended
 *       │                   │                  │                 ├──hand over──▶ waits for another process
 *       │                   │                  └─lose──▶ stopping └──────────▶ another process owns the run
 *       │                   └──────stop, finish──────────────────────────────────────▶ ended
 *       └──drop (also from waiting): this process forgets the run, and records no end
 * ```
 *
 * - *admitting*: the store is asked to admit the run.
 * - *waiting*: the store has the run. It waits in the queue of its session, or for a slot. Any process may start it.
 * - *running*: this process owns the run. The handler is called. What it emits is appended to the log.
 * - *stopping*: what becomes of the run is decided. The first cause decides, and nothing later changes it: the handler
 *   completed or threw, a time-out, a cancellation, the disconnect policy, the drain, or the loss of the run. The signal is
 *   aborted, the handler's iterator is returned or its subscription ended, and whatever it still emits is dropped.
 * - *ended*: the handler has stopped, or has missed its deadline. The store has appended `done` and promoted the next run of
 *   the session. A handler that missed its deadline is logged, and is counted as overdue until it stops.
 *
 * The verbs of this list are the only ones for the life of a run: admit, start, stop, finish, hand over, lose, drop.
 */
export class Runner implements LiveRun {
  readonly followers: Followers;
  readonly observation: Observation;
  readonly disconnects: Disconnects;
  /** Resolves when the run has ended or has left this process. */
  readonly ended: Promise<Ending>;
  #resolveEnded!: (ending: Ending) => void;

  #record: RunRecord | undefined;
  #isHandling = false;
  #isFinishing = false;
  #isDropped = false;
  #end: RunEnd | undefined;
  #outcome: Outcome = 'finish';
  #stopTimer: Timer | undefined;
  readonly #execution: Execution;

  /**
   * @param run the run that is to be admitted, or was taken
   * @param query what its handler is given; undefined if the store has it
   * @param releaseFiles called once, when the run no longer needs the files of the query
   * @param trace undefined if there is no tracer
   */
  constructor(
    private readonly services: RunnerServices,
    private readonly events: RunnerEvents,
    private readonly run: RunRef & Pick<RunRecord, 'sessionId'>,
    private readonly query: Query | undefined,
    disconnect: DisconnectPolicy,
    releaseFiles: () => void = () => undefined,
    private readonly trace?: RunTrace,
  ) {
    this.followers = services.groups.of(run);
    this.observation = new Observation(services.observers);
    this.#execution = new Execution(services, this, query, releaseFiles, trace);
    this.disconnects = new Disconnects(services, this, disconnect);
    this.followers.attach(this.disconnects);
    this.ended = new Promise((resolve) => (this.#resolveEnded = resolve));
  }

  get id(): string {
    return this.run.id;
  }

  get sessionId(): string | undefined {
    return this.run.sessionId;
  }

  get owner(): string {
    return this.run.owner;
  }

  /** Whether the end of the run is decided. */
  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  /** Whether the store has the run, and any process may start it. */
  get isWaiting(): boolean {
    return this.#record?.status === 'waiting' && this.#end === undefined;
  }

  /** Whether the run has another attempt if this one is handed over. */
  get mayRestart(): boolean {
    return this.#isHandling && this.#record!.attempt <= (this.services.handler.restarts ?? 0);
  }

  /** The store has admitted the run, and it waits. Does nothing if the run was started before the store reported this. */
  admit(record: RunRecord): void {
    if (this.#record) return;
    this.#record = record;
    if (this.#end) this.#finishUnstarted();
    else if (this.#isDropped) void this.#leaveTrace();
  }

  /** This process owns the run: calls the handler. Resolves when the handler has stopped; never rejects. */
  async start(record: RunRecord): Promise<void> {
    this.#record = record;
    this.#isHandling = true;
    this.observation.started(record);
    // A run that another process has admitted has its followers there.
    this.followers.goLive(this.query === undefined && !record.detached);
    try {
      if (!this.#end) await this.#execution.execute(record);
      this.stop({ status: 'completed' });
    } catch (error) {
      this.stopFailed(error);
    }
    this.#isHandling = false;
    this.#traceStop();
    if (this.#isFinishing) this.events.stoppedLate(this);
    else await this.#finish(true);
    this.#execution.close();
  }

  /** Decides how the run ends, unless that is decided, and asks the handler to stop. */
  stop(end: RunEnd): void {
    if (this.#end) return;
    this.#end = end;
    this.#execution.clearTimeLimit();
    this.disconnects.clear();
    if (end.status === 'completed') return;
    if (!this.#isHandling) {
      if (this.#record) this.#finishUnstarted();
      return;
    }
    const { clock, options } = this.services;
    this.#stopTimer = clock.start('stopDeadlineMs', options.stopDeadlineMs, () => this.#missedDeadline());
    this.#execution.stop(
      this.#outcome === 'finish' ? new Error(`The run is ${end.status}.`) : new HandedOver(),
    );
    // The handler may be held back until its followers advance.
    this.followers.advanced();
  }

  /** Stops the run with an error. A handler that was asked to stop may do so by throwing: that error is ignored. */
  stopFailed(error: unknown): void {
    if (!this.#end) this.stop(reportFailure(this.id, error, this.services.logger));
  }

  /** Stops the handler, and gives the run back to the queue for its next attempt. */
  handOver(): void {
    if (this.#end) return;
    this.#outcome = 'hand over';
    this.stop(INTERRUPTED);
  }

  /** Another process owns the run now: stops the handler. The followers follow the log that the other process writes. */
  lose(): void {
    this.#outcome = 'lost';
    this.followers.detach(false);
    this.followers.notify();
    this.stop(INTERRUPTED);
  }

  /** This process forgets the run: the store did not admit it, or another process has it. */
  drop(): void {
    this.disconnects.clear();
    this.#execution.close();
    this.followers.detach(false);
    this.#isDropped = true;
    if (this.#record) void this.#leaveTrace();
    this.#resolveEnded({ run: undefined, stopped: true });
  }

  #finishUnstarted(): void {
    this.#execution.close();
    void this.#finish(true);
  }

  #missedDeadline(): void {
    this.services.logger.warn(
      `Run ${this.id}: the handler still executes ${this.services.options.stopDeadlineMs} ms after its signal was ` +
        'aborted. The run ends without it. The handler should watch context.signal.',
    );
    this.#traceStop();
    this.events.overdue(this);
    void this.#finish(false);
  }

  async #finish(stopped: boolean): Promise<void> {
    this.#isFinishing = true;
    this.services.clock.stop(this.#stopTimer);
    const { followers } = this;
    let finished: Ended | undefined;
    try {
      finished = await this.#recordOutcome();
      followers.notify();
    } catch (error) {
      this.services.logger.error(`Run ${this.id}: its end could not be stored.`, (error as Error).stack);
      followers.disconnectAll();
    }
    // The run that was lost may be in this process again, with another runner.
    if (this.#outcome !== 'lost') followers.detach(finished !== undefined);
    if (finished) {
      this.observation.ended(finished.run);
      this.trace?.ended(finished.run.end);
    } else void this.#leaveTrace();
    this.events.finished(this, finished?.next);
    this.#resolveEnded({ run: finished?.run, stopped });
  }

  #traceStop(): void {
    this.trace?.stopped(this.#outcome === 'finish' ? this.#end : undefined, this.observation.usage);
  }

  /** The run has left this process. Those that follow it here learn how it ends. */
  async #leaveTrace(): Promise<void> {
    const { trace, followers, services } = this;
    if (!trace) return;
    await followers.emptied();
    const find = async () => services.store.find(this.owner, this.id);
    const found = await find().catch(() => undefined);
    trace.ended(found?.end);
  }

  async #recordOutcome(): Promise<Ended | undefined> {
    const { store } = this.services;
    if (this.#outcome === 'finish') {
      const finished = await store.end(this.#record!, this.#end!, this.#execution.kept);
      // The run waited here, but another process has started it by now.
      if (!finished && this.#record!.status === 'waiting') {
        await store.request(this.#record!, 'cancel');
        store.signals.send({ type: 'cancel', runId: this.id });
      }
      return finished;
    }
    if (this.#outcome === 'hand over' && (await store.handOver(this.#record!))) this.events.handedOver();
    return undefined;
  }
}
