import type { RunEnd } from 'nest-agent-query-client';
import { INTERRUPTED } from '../../contract/envelopes.js';
import { HandedOver } from '../../contract/errors.js';
import type { Followers } from '../../event-log/followers.js';
import type { Timer } from '../../platform/clock.js';
import { withResolvers } from '../../platform/with-resolvers.js';
import type { Ended, RunRecord } from '../../ports/run-store.js';
import { Disconnects } from './disconnects.js';
import { Execution, type Submission } from './execution.js';
import { reportFailure } from './failure.js';
import { KeptAnswer } from '../../contract/kept-answer.js';
import { Observation, observed } from '../observers.js';
import type { EndedRun, LiveRun, NewRun, RunnerEvents, RunnerServices } from '../runner-services.js';
import { stackForLog } from '../../platform/text-for-log.js';

/**
 * One run that is alive in this process: its states, which `docs/architecture.md` describes, and what decides its end.
 *
 * ```text
 *   admitting ──admit──▶ waiting ──start──▶ running ──stop──▶ stopping ──finish──────▶ ended
 *       │                   │              pause▼ ▲resume      ▲ ├──hand over──▶ waits for another process
 *       │                   │                  asking ──stop───┘ └──lose, park─▶ another process has the run
 *       │                   └──────stop, finish──────────────────────────────────────▶ ended
 *       └──drop (also from waiting): this process forgets the run, and records no end
 * ```
 *
 * - *asking*: the store has questions of the run. The handler waits for the answers, without a slot. When these are there, the
 *   run waits in the store, and this process takes it; or it is parked, and any process calls the handler again later.
 * - *stopping*: the first cause has decided what becomes of the run, and nothing later changes it. The signal is aborted, the
 *   handler's iterator is returned or its subscription ended, and whatever it still emits is dropped.
 * - *ended*: the handler has stopped, or has missed its deadline: then it is counted as overdue until it stops.
 */
export class Runner implements LiveRun {
  readonly id: string;
  readonly owner: string;
  readonly followers: Followers;
  readonly observation: Observation;
  readonly disconnects: Disconnects;
  /** Resolves when the run has left this process; with undefined if this process did not end it. */
  readonly ended: Promise<EndedRun | undefined>;
  #resolveEnded!: (ending: EndedRun | undefined) => void;

  #record: RunRecord | undefined;
  #isHandling = false;
  #isFinishing = false;
  #isDropped = false;
  #end: RunEnd | undefined;
  #reason: Error | undefined;
  /** Who records what becomes of a run that is stopped. */
  #outcome: 'finish' | 'hand over' | 'lost' = 'finish';
  #stopTimer: Timer | undefined;
  #execution: Execution | undefined;
  /** Wakes the handler of a run that asks. */
  #pause: (ReturnType<typeof withResolvers<RunRecord>> & { told: Map<number, string> }) | undefined;

  /**
   * @param run the run that is to be admitted, or was taken
   * @param submission its query, if that was submitted in this process
   */
  constructor(
    private readonly services: RunnerServices,
    private readonly events: RunnerEvents<Runner>,
    run: NewRun,
    private readonly submission: Submission,
  ) {
    this.id = run.id;
    this.owner = run.owner;
    this.followers = services.groups.of(run);
    this.observation = new Observation(services.observers, submission.trace);
    this.disconnects = new Disconnects(services, this, run.detached);
    this.followers.attach(this.disconnects);
    this.ended = new Promise((resolve) => (this.#resolveEnded = resolve));
  }

  /** 0 before the store has admitted the run. */
  get attempt(): number {
    return this.#record?.attempt ?? 0;
  }

  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  /** Whether any process may start the run. */
  get isWaiting(): boolean {
    return this.#record?.status === 'waiting' && this.#end === undefined;
  }

  /** Whether the handler waits for answers. */
  get isAsking(): boolean {
    return this.#pause !== undefined && this.#end === undefined;
  }

  /** Whether the handler was called, and has not stopped. */
  get isHandling() {
    return this.#isHandling;
  }

  /** Whether the handler still executes, although it has missed its stop deadline. */
  get isOverdue(): boolean {
    return this.#isHandling && this.#isFinishing;
  }

  /** Whether the run has another attempt if this one is handed over. */
  get mayRestart(): boolean {
    return this.#isHandling && (this.services.handler.restarts ?? 0) > 0;
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
    const isForeign = this.submission.query === undefined;
    const hasWaited = this.#record !== undefined;
    this.#record = record;
    this.#isHandling = true;
    this.observation.started(record);
    // A run that another process has admitted has its followers there.
    this.followers.goLive(record, isForeign || hasWaited, isForeign && !record.detached);
    try {
      if (!this.#end) {
        this.#execution = new Execution(this.services, this, record, this.submission);
        await this.#execution.execute();
      }
      this.stop({ status: 'completed' });
    } catch (error) {
      this.stopFailed(error);
    }
    this.#isHandling = false;
    this.#traceStop();
    if (this.#isFinishing) this.events.stoppedLate(this);
    else await this.#finish(true);
    this.#close();
  }

  awaitAnswers(told: Map<number, string>): Promise<RunRecord> {
    if (this.#end) throw this.#reason ?? new Error('The run has ended.');
    return (this.#pause = { ...withResolvers<RunRecord>(), told }).promise;
  }

  asked(survives: boolean): void {
    if (this.isAsking) this.events.paused(this, survives);
  }

  notAsked(): void {
    this.#pause = undefined;
  }

  /** The store has appended an answer with this number. */
  answered(seq: number, text: string): void {
    this.#pause?.told.set(seq, text);
  }

  /** This process has taken the run again: all that it has asked is answered. A handler that was stopped goes on stopping. */
  resume(record: RunRecord): void {
    this.#record = record;
    this.#pause?.resolve(record);
    this.#pause = undefined;
  }

  /** Decides how the run ends, unless that is decided, and asks the handler to stop. Default reason: how the run ends. */
  stop(end: RunEnd, reason?: HandedOver): void {
    if (this.#end) return;
    this.#end = end;
    this.#execution?.clearTimeLimit();
    this.disconnects.clear();
    if (end.status === 'completed') return;
    if (!this.#isHandling) {
      if (this.#record) this.#finishUnstarted();
      return;
    }
    const { clock, options } = this.services;
    this.#stopTimer = clock.start('stopDeadlineMs', options.stopDeadlineMs, () => this.#missedDeadline());
    this.#reason = reason ?? new Error(`The run is ${end.status}.`);
    this.#execution?.stop(this.#reason);
    this.#pause?.reject(this.#reason);
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
    this.stop(INTERRUPTED, new HandedOver());
  }

  /**
   * This process does not own the run any more: stops the handler. The followers follow the log that others write.
   *
   * @param end how the run was ended while it asked. Default: another process owns it
   */
  lose(end?: RunEnd): void {
    this.#outcome = 'lost';
    this.followers.detach(end !== undefined);
    this.followers.notify();
    this.stop(end ?? INTERRUPTED, end ? undefined : new HandedOver());
  }

  /** This process forgets the run: the store did not admit it, or another process has it. */
  drop(): void {
    this.disconnects.clear();
    this.#close();
    this.followers.detach(false);
    this.#isDropped = true;
    if (this.#record) void this.#leaveTrace();
    this.#resolveEnded(undefined);
  }

  #finishUnstarted(): void {
    this.#close();
    void this.#finish(true);
  }

  /** Gives up the files of the query and of earlier turns. Can be called again. */
  #close(): void {
    this.#execution?.close();
    const { releaseFiles } = this.submission;
    this.submission.releaseFiles = undefined;
    releaseFiles?.();
  }

  #missedDeadline(): void {
    this.services.logger.warn(
      `Run ${this.id}: the handler still executes ${this.services.options.stopDeadlineMs} ms after its signal was ` +
        'aborted. The run ends without it. The handler should watch context.signal.',
    );
    this.#traceStop();
    void this.#finish(false);
  }

  async #finish(stopped: boolean): Promise<void> {
    this.#isFinishing = true;
    const { followers, services } = this;
    services.clock.stop(this.#stopTimer);
    let finished: Ended | undefined;
    let isHandedOver = false;
    try {
      if (this.#outcome === 'finish') finished = await this.#recordEnd();
      else if (this.#outcome === 'hand over') isHandedOver = await services.store.handOver(this.#record!);
      followers.notify();
    } catch (error) {
      services.logger.error(`Run ${this.id}: its end could not be stored.`, stackForLog(error));
      followers.disconnectAll();
    }
    // The run that was lost may be in this process again, with another runner.
    if (this.#outcome !== 'lost') followers.detach(finished !== undefined);
    if (finished) {
      this.observation.closed(finished);
      this.observation.ended(finished.run);
      this.submission.trace?.ended(finished.run.end);
    } else void this.#leaveTrace();
    // Before the run begins that takes its place.
    if (finished?.isReplaced) {
      const { owner, sessionId } = observed(finished.run);
      await services.tellErased({ owner, id: sessionId!, goesOn: true });
    }
    this.events.finished(this, isHandedOver ? this.#record : finished?.next);
    this.#resolveEnded(finished && { run: finished.run, stopped });
  }

  async #recordEnd(): Promise<Ended | undefined> {
    const { store } = this.services;
    const record = this.#record!;
    const finished = await store.end(record, this.#end!, this.#execution?.kept ?? new KeptAnswer().value);
    // The run waited here, but another process has started it by now.
    if (!finished && record.status === 'waiting') {
      await store.wish(record, 'cancel');
      store.signals.send({ type: 'cancel', runId: this.id });
    }
    return finished;
  }

  #traceStop(): void {
    const end = this.#reason instanceof HandedOver ? undefined : this.#end;
    this.submission.trace?.stopped(end, this.observation.usage);
  }

  /** The run has left this process. Those that follow it here learn how it ends. */
  async #leaveTrace(): Promise<void> {
    const { trace } = this.submission;
    if (!trace) return;
    await this.followers.emptied();
    const find = async () => this.services.store.find(this.owner, this.id);
    const found = await find().catch(() => undefined);
    trace.ended(found?.end);
  }
}
