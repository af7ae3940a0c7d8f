import { AsyncResource } from 'node:async_hooks';
import { INTERRUPTED } from '../contract/envelopes.js';
import { HandedOver } from '../contract/handed-over.js';
import type { RunEnd } from 'nest-agent-query-client';
import type { FollowersListener, RunFollowers } from '../event-log/run-followers.js';
import { OpenedFiles } from '../files/files.js';
import type { DisconnectPolicy } from '../options/query.options.js';
import type { Timer } from '../platform/clock.js';
import type { Query } from '../ports/agent-handler.js';
import type { Ended, RunRecord, RunRef } from '../ports/run-store.js';
import { type Consumption, consume } from './answer.js';
import { AnswerWriter } from './answer-writer.js';
import { reportFailure } from './failure.js';
import { Observation } from './observation.js';
import { ContextOfRun } from './query-context.js';
import type { RunnerServices } from './runner-services.js';
import { TimeLimit } from './time-limit.js';
import type { GuardedTrace } from './traces.js';

/** The async context of a run whose query was not submitted in this process: none. */
const NO_CONTEXT = new AsyncResource('Run');

/** What a runner reports. */
export interface RunnerEvents {
  /** The run has left this process. `promoted` is the run that is now first in the session's queue, if this one ended. */
  finished(runner: Runner, promoted: RunRecord | undefined): void;
  /** The handler has missed its stop deadline. */
  overdue(runner: Runner): void;
  /** An overdue handler has stopped. */
  stoppedLate(runner: Runner): void;
  /** A run waits for its next attempt. */
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
 * One run that is alive in this process. Only here do the handler and the store meet.
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
export class Runner implements FollowersListener {
  readonly followers: RunFollowers;
  readonly observation: Observation;
  /** Resolves when the run has ended or has left this process. */
  readonly ended: Promise<Ending>;
  #resolveEnded!: (ending: Ending) => void;

  #record: RunRecord | undefined;
  #isHandling = false;
  #isFinishing = false;
  #isDropped = false;
  /** Set when the end is decided. */
  #end: RunEnd | undefined;
  #outcome: Outcome = 'finish';
  #consumption: Consumption | undefined;
  #stopTimer: Timer | undefined;
  /** The time limit of the handler. */
  #timeLimit: TimeLimit | undefined;
  #graceTimer: Timer | undefined;
  #wasFollowed = false;
  /** The async context in which the query was submitted. */
  readonly #asyncContext: AsyncResource;
  readonly #context: ContextOfRun;
  readonly #answer: AnswerWriter;

  /**
   * @param run the run that is to be admitted, or was taken
   * @param query what its handler is given; undefined if the store has it
   * @param disconnect what happens when the last follower leaves
   * @param releaseFiles called once, when the run no longer needs the files of the query
   * @param trace undefined if there is no tracer
   */
  constructor(
    private readonly services: RunnerServices,
    private readonly events: RunnerEvents,
    private readonly run: RunRef & Pick<RunRecord, 'sessionId'>,
    private readonly query: Query | undefined,
    private disconnect: DisconnectPolicy,
    private releaseFiles: () => void = () => undefined,
    private readonly trace?: GuardedTrace,
  ) {
    this.followers = services.groups.of(run.id);
    this.followers.attach(this);
    this.observation = new Observation(services.observers);
    // `AsyncLocalStorage.snapshot` does the same, and takes a tenth of a small query on Node 20.
    this.#asyncContext = query ? new AsyncResource('Run') : NO_CONTEXT;
    this.#context = new ContextOfRun(services.store, services.files);
    this.#answer = new AnswerWriter(services, this);
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
    this.#answer.begin(record);
    this.#isHandling = true;
    this.observation.started(record);
    // A run that another process has admitted has its followers there.
    this.followers.goLive(this.query === undefined && !record.detached);
    try {
      if (!this.#end) await this.#asyncContext.runInAsyncScope(() => this.#execute(record));
      this.stop({ status: 'completed' });
    } catch (error) {
      this.stopFailed(error);
    }
    this.#isHandling = false;
    this.#traceStop();
    if (this.#isFinishing) this.events.stoppedLate(this);
    else await this.#finish(true);
    this.#release();
  }

  /** Decides how the run ends, unless that is decided, and asks the handler to stop. */
  stop(end: RunEnd): void {
    if (this.#end) return;
    this.#end = end;
    this.#timeLimit?.clear();
    this.services.clock.stop(this.#graceTimer);
    if (end.status === 'completed') return;
    if (!this.#isHandling) {
      if (this.#record) this.#finishUnstarted();
      return;
    }
    const { clock, options } = this.services;
    this.#stopTimer = clock.start('stopDeadlineMs', options.stopDeadlineMs, () => this.#missedDeadline());
    this.#inContext(() => {
      this.#context.abort(
        this.#outcome === 'finish' ? new Error(`The run is ${end.status}.`) : new HandedOver(),
      );
      this.#consumption?.stop();
    });
    this.#answer.stop();
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
    this.services.clock.stop(this.#graceTimer);
    this.#release();
    this.followers.detach(false);
    this.#isDropped = true;
    if (this.#record) void this.#leaveTrace();
    this.#resolveEnded({ run: undefined, stopped: true });
  }

  /** From now on the run continues when nobody follows it. */
  ignoreDisconnects(): void {
    this.disconnect = 'continue';
    this.services.clock.stop(this.#graceTimer);
  }

  /** No caller can follow the run once this process has ended: from now on it is stopped when nobody follows it. */
  cancelUnlessFollowed(): void {
    if (this.disconnect === 'continue') return;
    this.disconnect = 'cancel';
    this.services.clock.stop(this.#graceTimer);
    // The caller of a run that is being admitted comes later.
    if (this.#wasFollowed && this.followers.size === 0) this.stop({ status: 'cancelled' });
  }

  /** Part of `FollowersListener`. */
  followed(): void {
    this.#wasFollowed = true;
    this.services.clock.stop(this.#graceTimer);
  }

  /** Part of `FollowersListener`: applies the disconnect policy. */
  unfollowed(): void {
    if (this.#end || this.disconnect === 'continue') return;
    if (this.disconnect === 'cancel') return void this.#cancelUnfollowed();
    const { graceMs } = this.disconnect;
    this.#graceTimer = this.services.clock.start('graceMs', graceMs, () => void this.#cancelUnfollowed());
  }

  async #cancelUnfollowed(): Promise<void> {
    const { store, logger } = this.services;
    try {
      // Another process may have been asked to let the run continue, and its signal may be lost.
      if (store.signals.isShared && (await store.find(this.owner, this.id, true))?.detached)
        return this.ignoreDisconnects();
    } catch (error) {
      const sentence = `Run ${this.id} continues without followers, because the store did not tell whether it should.`;
      return logger.error(sentence, (error as Error).stack);
    }
    if (this.followers.size === 0 && this.disconnect !== 'continue') this.stop({ status: 'cancelled' });
  }

  #release(): void {
    const { releaseFiles } = this;
    this.releaseFiles = () => undefined;
    releaseFiles();
    this.#context.close();
  }

  /** The run was stopped before its handler was called. */
  #finishUnstarted(): void {
    this.#release();
    void this.#finish(true);
  }

  #execute(record: RunRecord): Promise<void> {
    const { trace } = this;
    if (!trace) return this.#handle(record);
    trace.started(record.attempt);
    return trace.within(() => this.#handle(record));
  }

  /** Executes a step of the handler that something else causes, such as another request, in the context of the handler. */
  #inContext(step: () => void): void {
    const { trace } = this;
    this.#asyncContext.runInAsyncScope(trace ? () => trace.within(step) : step);
  }

  async #handle(record: RunRecord): Promise<void> {
    const { handler, options, kwargs, clock } = this.services;
    const { query, checkpoint } = await this.#beginning(record);
    const typed = kwargs ? ((await kwargs.typed(query)) as Query) : query;
    const context = await this.#context.create(record, checkpoint, options.sessionTurns);
    if (this.#end) return;
    this.#timeLimit = new TimeLimit(clock, options.timeoutMs, () => this.#timedOut());
    const answer = await handler.handle(typed, context);
    // An answer that was never consumed holds nothing that must be closed.
    if (this.#end) return;
    this.#consumption = consume(answer, {
      take: (value) => this.#answer.take(value),
      pause: () => this.#answer.pause(),
    });
    // The first value of a synchronous answer may have stopped the run.
    if (this.#end) this.#consumption.stop();
    await this.#consumption.ended;
    await this.#answer.settled();
  }

  /** The query, and what an earlier attempt has left. */
  async #beginning(record: RunRecord): Promise<{ query: Query; checkpoint: string | undefined }> {
    if (this.query && record.attempt === 1) return { query: this.query, checkpoint: undefined };
    const { parts, kwargs, answer, checkpoint } = await this.services.store.query(record);
    this.#answer.continue(answer);
    if (this.query) return { query: this.query, checkpoint };
    const opened = new OpenedFiles();
    this.releaseFiles = () => opened.close();
    return {
      query: { parts: await this.services.files.restore(this.id, parts, opened), kwargs },
      checkpoint,
    };
  }

  /** The time in which slow followers hold the handler back does not count as its own; it has a limit of its own. */
  holdBack(isHeldBack: boolean): void {
    if (this.#end) return;
    const { backpressureMs } = this.services.options;
    if (isHeldBack) this.#timeLimit?.pause(backpressureMs, () => this.#stalled());
    else this.#timeLimit?.resume();
  }

  #stalled(): void {
    const seconds = this.services.options.backpressureMs / 1000;
    const message = `The run was stopped: its followers have not read for ${seconds} s.`;
    this.stop({ status: 'failed', error: { code: 'followers_stalled', message } });
  }

  #timedOut(): void {
    const seconds = this.services.options.timeoutMs / 1000;
    const message = `The run was stopped after ${seconds} s, the time limit of a run.`;
    this.stop({ status: 'failed', error: { code: 'run_timeout', message } });
  }

  /** The handler was asked to stop and has not stopped in time. */
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
      const finished = await store.end(this.#record!, this.#end!, this.#answer.kept);
      // The run waited here, but another process has started it by now.
      if (!finished && this.#record!.status === 'waiting') {
        await store.request(this.#record!, 'cancel');
        store.signals.send({ type: 'cancel', runId: this.id });
      }
      return finished;
    }
    if (this.#outcome === 'hand over' && (await store.giveBack(this.#record!))) this.events.handedOver();
    return undefined;
  }
}
