import { Logger } from '@nestjs/common';
import { envelopeText, log } from '../contract/envelopes.js';
import { QueryError } from '../contract/errors.js';
import type { Envelope, RunEnd } from '../contract/wire.js';
import { Followers } from '../event-log/followers.js';
import type { Files } from '../files/files.js';
import type { DisconnectPolicy, RunOptions } from '../options/query.options.js';
import type { TypedKwargs } from '../options/typed-kwargs.js';
import type { Clock, Timer } from '../platform/clock.js';
import type { AgentHandler, Query } from '../ports/agent-handler.js';
import type { RunRecord, RunRef, RunStore } from '../ports/run-store.js';
import { type Consumption, consume } from './answer.js';
import { AnswerText } from './answer-text.js';
import { Backpressure } from './backpressure.js';
import { reportFailure } from './failure.js';
import { ContextOfRun } from './query-context.js';
import { TimeLimit } from './time-limit.js';

const TOO_FAST =
  'The answer came faster than it could be stored. An Observable cannot be held back: let the agent emit less at once, or ' +
  'answer with an async iterable.';
const NOT_STORED = 'The service could not store the answer, and has logged the cause. Send the query again.';

/** What all runners of a service share. */
export interface RunnerServices {
  readonly store: RunStore;
  readonly handler: AgentHandler;
  readonly options: RunOptions;
  /** Undefined where the host has no class for kwargs. */
  readonly kwargs: TypedKwargs | undefined;
  readonly files: Files;
  readonly clock: Clock;
}

/** What a runner reports. */
export interface RunnerEvents {
  /** The run has ended. `promoted` is the run that is now first in the session's queue. */
  finished(runner: Runner, promoted: RunRecord | undefined): void;
  /** The handler has missed its stop deadline. */
  overdue(runner: Runner): void;
  /** An overdue handler has stopped. */
  stoppedLate(runner: Runner): void;
}

/** How a run ended. */
export interface Ending {
  /** The run as the store ended it; undefined where it was dropped, or where its end could not be stored. */
  run: RunRecord | undefined;
  /** Whether the handler has really stopped. */
  stopped: boolean;
}

/**
 * One run that is alive in this process. Only here do the handler and the store meet.
 *
 * ```text
 *   admitting ──admit──▶ waiting ──start──▶ running ──stop──▶ stopping ──finish──▶ ended
 *       │                   │                  └─ the handler is called
 *       │                   └──────stop, finish─────────────────────────────────▶ ended
 *       └──drop (also from waiting): this process forgets the run, and records no end
 * ```
 *
 * - *admitting*: the store is asked to admit the run.
 * - *waiting*: the store has the run. It waits in the queue of its session, or for a slot.
 * - *running*: the handler is called. What it emits is appended to the log.
 * - *stopping*: the end of the run is decided. The first cause decides, and nothing later changes it: the handler
 *   completed or threw, a time-out, a cancellation, the disconnect policy, or the drain. The signal is aborted, the
 *   handler's iterator is returned or its subscription ended, and whatever it still emits is dropped.
 * - *ended*: the handler has stopped, or has missed its deadline. The store has appended `done` and promoted the next run of
 *   the session. A handler that missed its deadline is logged, and is counted as overdue until it stops.
 *
 * The verbs of this list are the only ones for the life of a run: admit, start, stop, finish, drop.
 */
export class Runner {
  static readonly #logger = new Logger('Runner');

  readonly followers = new Followers(
    () => this.services.clock.stop(this.#graceTimer),
    () => this.#applyDisconnectPolicy(),
  );
  /** Resolves when the run has ended or was dropped. */
  readonly ended: Promise<Ending>;
  #resolveEnded!: (ending: Ending) => void;

  #isAdmitted = false;
  #isHandling = false;
  #isFinishing = false;
  /** Set when the end is decided. */
  #end: RunEnd | undefined;
  #consumption: Consumption | undefined;
  #stopTimer: Timer | undefined;
  /** The time limit of the handler. */
  #timeLimit: TimeLimit | undefined;
  #graceTimer: Timer | undefined;
  readonly #context: ContextOfRun;
  readonly #backpressure = new Backpressure(
    this.followers,
    () => this.#end !== undefined,
    (isHeldBack) => this.#holdBack(isHeldBack),
  );
  readonly #text = new AnswerText();
  #commit: Promise<void> | undefined;
  /** Settles when what was appended is stored, or cannot be. */
  #stored: Promise<void> | undefined;

  /**
   * @param run the run that is to be admitted
   * @param query what its handler is given
   * @param disconnect what happens when the last follower leaves
   * @param releaseFiles called once, when the run no longer needs the files of the query
   */
  constructor(
    private readonly services: RunnerServices,
    private readonly events: RunnerEvents,
    private run: RunRef & Pick<RunRecord, 'sessionId'>,
    private readonly query: Query,
    private disconnect: DisconnectPolicy,
    private releaseFiles: () => void,
  ) {
    this.#context = new ContextOfRun(services.store, services.files);
    this.ended = new Promise((resolve) => (this.#resolveEnded = resolve));
  }

  get id(): string {
    return this.run.id;
  }

  /** Whether the run belongs to this session. */
  isOf(owner: string, sessionId: string): boolean {
    return this.run.owner === owner && this.run.sessionId === sessionId;
  }

  /** Whether the store has the run. */
  get isAdmitted(): boolean {
    return this.#isAdmitted;
  }

  /** The store has admitted the run. May be called again. */
  admit(record: RunRecord): void {
    if (this.#isAdmitted) return;
    this.#isAdmitted = true;
    this.run = record;
    for (const notice of mismatches(this.query)) this.announce(notice);
    if (this.#end) this.#finishUnstarted();
  }

  /** Calls the handler, unless the run was stopped. Resolves when the handler has stopped; never rejects. */
  async start(): Promise<void> {
    if (this.#end) return;
    this.#isHandling = true;
    try {
      await this.#handle();
      this.stop({ status: 'completed' });
    } catch (error) {
      this.stopFailed(error);
    }
    this.#isHandling = false;
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
      if (this.#isAdmitted) this.#finishUnstarted();
      return;
    }
    const { clock, options } = this.services;
    this.#stopTimer = clock.start('stopDeadlineMs', options.stopDeadlineMs, () => this.#missedDeadline());
    this.#context.abort(new Error(`The run is ${end.status}.`));
    this.#consumption?.stop();
    // The handler may be held back until its followers advance.
    this.followers.advanced();
  }

  /** Stops the run with an error. A handler that was asked to stop may do so by throwing: that error is ignored. */
  stopFailed(error: unknown): void {
    if (!this.#end) this.stop(reportFailure(this.id, error));
  }

  /** This process forgets the run: the store did not admit it, or keeps it for another process. */
  drop(): void {
    this.ignoreDisconnects();
    this.followers.disconnectAll();
    this.#release();
    this.#resolveEnded({ run: undefined, stopped: true });
  }

  /** From now on the run continues when nobody follows it. */
  ignoreDisconnects(): void {
    this.disconnect = 'continue';
    this.services.clock.stop(this.#graceTimer);
  }

  /** Appends a log envelope of the service itself. */
  announce(text: string): void {
    if (!this.#end) this.#append(JSON.stringify(log(text)));
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

  async #handle(): Promise<void> {
    const { store, handler, options, kwargs, clock } = this.services;
    if (!(await store.start(this.run))) return;
    const query = kwargs ? await kwargs.typed(this.query) : this.query;
    const context = await this.#context.create(this.run, options.sessionTurns);
    if (this.#end) return;
    this.#timeLimit = new TimeLimit(clock, options.timeoutMs, () => this.#timedOut());
    const answer = await handler.handle(query as Query, context);
    // An answer that was never consumed holds nothing that must be closed.
    if (this.#end) return;
    this.#consumption = consume(answer, {
      take: (value) => this.#take(value),
      pause: () => this.#backpressure.pause(this.#stored),
    });
    // The first value of a synchronous answer may have stopped the run.
    if (this.#end) this.#consumption.stop();
    await this.#consumption.ended;
  }

  #take(value: unknown): void {
    if (this.#end) return;
    try {
      const text = envelopeText(value, this.services.options.envelopeLength);
      if (this.run.sessionId !== undefined) this.#text.add(value as Envelope);
      this.#append(text);
      if (this.#backpressure.isTooFast(this.#stored)) throw new QueryError('answer_too_fast', TOO_FAST);
    } catch (error) {
      this.stopFailed(error);
    }
  }

  #append(text: string): void {
    this.#backpressure.emitted(text.length);
    const commit = this.services.store.append(this.run, text);
    if (!commit) return this.followers.notify();
    if (commit === this.#commit) return;
    this.#commit = commit;
    this.#stored = commit.then(
      () => this.followers.notify(),
      (error: unknown) => this.stopFailed(notStored(error)),
    );
  }

  #applyDisconnectPolicy(): void {
    if (this.#end || this.disconnect === 'continue') return;
    if (this.disconnect === 'cancel') return this.stop({ status: 'cancelled' });
    const { graceMs } = this.disconnect;
    this.#graceTimer = this.services.clock.start('graceMs', graceMs, () =>
      this.stop({ status: 'cancelled' }),
    );
  }

  /** The time in which slow followers hold the handler back does not count as its own; it has a limit of its own. */
  #holdBack(isHeldBack: boolean): void {
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
    Runner.#logger.warn(
      `Run ${this.id}: the handler still executes ${this.services.options.stopDeadlineMs} ms after its signal was ` +
        'aborted. The run ends without it. The handler should watch context.signal.',
    );
    this.events.overdue(this);
    void this.#finish(false);
  }

  async #finish(stopped: boolean): Promise<void> {
    this.#isFinishing = true;
    this.services.clock.stop(this.#stopTimer);
    let finished: Awaited<ReturnType<RunStore['finish']>>;
    try {
      finished = await this.services.store.finish(this.run, this.#end!, this.#text.value);
      this.followers.notify();
    } catch (error) {
      Runner.#logger.error(`Run ${this.id}: its end could not be stored.`, (error as Error).stack);
      this.followers.disconnectAll();
    }
    this.events.finished(this, finished?.next);
    this.#resolveEnded({ run: finished?.run, stopped });
  }
}

/** A refusal of the store has a sentence for the caller. */
function notStored(error: unknown): QueryError {
  return error instanceof QueryError ? error : new QueryError('internal', NOT_STORED, {}, { cause: error });
}

function mismatches({ parts }: Query): string[] {
  return parts.flatMap((part) =>
    part.type === 'file' && part.detectedMimeType !== undefined
      ? [`"${part.name}" is declared as ${part.mimeType}, but its bytes are ${part.detectedMimeType}.`]
      : [],
  );
}
