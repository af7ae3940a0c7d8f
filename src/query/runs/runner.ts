import { inspect, types } from 'node:util';
import { Logger } from '@nestjs/common';
import { type Consumption, consume } from './answer.js';
import { AnswerText } from './answer-text.js';
import { Followers } from '../event-log/followers.js';
import { envelopeText, log } from '../contract/envelopes.js';
import { type ErrorCode, QueryError } from '../contract/errors.js';
import { type Files, OpenedFiles } from '../files/files.js';
import type { AgentHandler, Query, QueryContext } from '../ports/agent-handler.js';
import { KEPT_LENGTH, type RunRef, type RunRecord, type RunStore } from '../ports/run-store.js';
import type { DisconnectPolicy, RunOptions } from '../options/query.options.js';
import type { Envelope, RunEnd, Turn } from '../contract/wire.js';

/** After so many characters of JSON the event loop has a turn before an async iterable is pulled again. */
const TURN_LENGTH = KEPT_LENGTH / 2;

/** An async iterable is not pulled while its fastest follower is so many characters of JSON behind. */
const LAG_LENGTH = KEPT_LENGTH - TURN_LENGTH;

const UNKEPT = 'The service could not keep the answer, and has logged the cause. Send the query again.';

/** What all runners of a service share. */
export interface RunnerContext {
  readonly store: RunStore;
  readonly handler: AgentHandler;
  readonly options: RunOptions;
  readonly files: Files;
  /** Called once for each run, when it has ended; `next` is the run that its session's line calls up. */
  onEnd(runner: Runner, next: RunRecord | undefined): void;
  /** Called when a handler goes on after its run has ended (1), and when it has stopped at last (-1). */
  onOverdue(change: 1 | -1): void;
}

/** How a run ended. */
export interface Ending {
  /** The run as the store ended it; undefined where it was never admitted, or where its end could not be recorded. */
  run: RunRecord | undefined;
  /** Whether the handler has really stopped. */
  stopped: boolean;
}

/**
 * One run that is alive in this process: the only place where the handler and the store meet.
 *
 * It is born *entering*, while the store admits it. Then it is *waiting*, in the line of its session or of the service.
 * `start` makes it *running*: the handler is called, and what it emits is appended to the log. Whatever comes first of
 * finish, throw, timeout, cancel, disconnect and drain decides how the run ends, and nothing later changes that. From then
 * on the run is *stopping*: the signal is raised, the handler's iterator returned or its subscription ended, and what it
 * still emits is dropped. When the handler has stopped, or the deadline for that has passed, the run is *ended*: the store
 * writes `done`, and the session's next run is called up. A handler that has not stopped by then is reported and counted
 * until it does.
 */
export class Runner {
  static readonly #logger = new Logger('Runner');

  /** Those who follow the run. */
  readonly followers = new Followers(
    () => clearTimeout(this.#grace),
    () => this.#abandoned(),
  );
  /** Resolves when the run has ended. */
  readonly ended: Promise<Ending>;
  #resolveEnded!: (ending: Ending) => void;

  #entered = false;
  #end: RunEnd | undefined;
  #finishing = false;
  #handling = false;
  #consumption: Consumption | undefined;
  #controller: AbortController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #grace: NodeJS.Timeout | undefined;
  #length = 0;
  #turn = 0;
  readonly #text = new AnswerText();
  /** Of earlier turns. */
  #opened: OpenedFiles | undefined;
  #commit: Promise<void> | undefined;
  /** Settles when what was appended is kept, or cannot be. */
  #kept: Promise<void> | undefined;

  /**
   * @param run the run that is to be admitted
   * @param query what its handler is given
   * @param disconnect what happens when the last follower leaves
   * @param release called once, when the run no longer needs the query's files
   */
  constructor(
    private readonly context: RunnerContext,
    private run: RunRef & Pick<RunRecord, 'sessionId'>,
    private readonly query: Query,
    private disconnect: DisconnectPolicy,
    private release: () => void,
  ) {
    this.ended = new Promise((resolve) => (this.#resolveEnded = resolve));
  }

  get id(): string {
    return this.run.id;
  }

  /** Whether the store has the run. */
  get entered(): boolean {
    return this.#entered;
  }

  /** The store has the run, as this record: it waits, unless it has been stopped already. May be called again. */
  enter(record: RunRecord): void {
    if (this.#entered) return;
    this.#entered = true;
    this.run = record;
    for (const notice of mismatches(this.query)) this.announce(notice);
    if (this.#end) this.#over();
  }

  /** The store does not have the run, and never will, or will keep it for the next process. */
  dismiss(): void {
    this.detach();
    this.followers.disconnectAll();
    this.#release();
    this.#resolveEnded({ run: undefined, stopped: true });
  }

  /** From now on the run goes on when nobody follows it. */
  detach(): void {
    this.disconnect = 'continue';
    clearTimeout(this.#grace);
  }

  /** Tells those who follow something that the service has to say. */
  announce(text: string): void {
    if (!this.#end) this.#append(JSON.stringify(log(text)));
  }

  /** Calls the handler, unless the run has been stopped. Never rejects; resolves when the handler has stopped. */
  async start(): Promise<void> {
    if (this.#end) return;
    this.#handling = true;
    try {
      await this.#handle();
      this.stop({ status: 'completed' });
    } catch (error) {
      this.fail(error);
    }
    this.#handling = false;
    if (this.#finishing) this.context.onOverdue(-1);
    else await this.#finish(true);
    this.#release();
  }

  /** Ends the run with this end, unless another has come before. */
  stop(end: RunEnd): void {
    if (this.#end) return;
    this.#end = end;
    clearTimeout(this.#timer);
    clearTimeout(this.#grace);
    if (end.status === 'completed') return;
    if (!this.#handling) {
      if (this.#entered) this.#over();
      return;
    }
    this.#timer = setTimeout(() => this.#overdue(), this.context.options.stopDeadlineMs);
    this.#controller?.abort(reasonOf(end));
    this.#consumption?.stop();
    // It may be waiting for its followers.
    this.followers.advanced();
  }

  /** The run has ended before its handler was called. */
  #over(): void {
    this.#release();
    void this.#finish(true);
  }

  #release(): void {
    const { release } = this;
    this.release = () => undefined;
    release();
    this.#opened?.close();
  }

  async #handle(): Promise<void> {
    const { store, handler, options } = this.context;
    if (!(await store.start(this.run))) return;
    const context = await this.#queryContext();
    if (this.#end) return;
    this.#timer = setTimeout(() => this.#timedOut(), options.timeoutMs);
    const answer = await handler.handle(this.query, context);
    // An answer that nobody has begun to consume holds nothing that would have to be given back.
    if (this.#end) return;
    this.#consumption = consume(answer, {
      take: (value) => this.#take(value),
      pause: () => this.#room(),
    });
    // Its first step may have stopped the run.
    if (this.#end) this.#consumption.stop();
    await this.#consumption.ended;
  }

  async #queryContext(): Promise<QueryContext> {
    const { id, owner, sessionId } = this.run;
    let session: QueryContext['session'];
    if (sessionId !== undefined) {
      const page = { after: undefined, limit: this.context.options.sessionTurns };
      const history = await this.context.store.turns(owner, sessionId, page);
      const turns = history?.turns ?? [];
      session = { id: sessionId, turns, file: (sha256) => this.#openFile(turns, sha256) };
    }
    const signal = () => this.#signal();
    return {
      runId: id,
      owner,
      session,
      get signal() {
        return signal();
      },
    };
  }

  /** A file of one of these turns: the newest that has it. */
  async #openFile(turns: Turn[], sha256: string): Promise<File> {
    for (const { runId, parts } of turns.toReversed()) {
      const file = parts.find((part) => part.type === 'file' && part.sha256 === sha256);
      if (file?.type === 'file')
        return this.context.files.open(runId, file, (this.#opened ??= new OpenedFiles()));
    }
    throw new QueryError('not_found', 'No turn of the session has a file with this digest.');
  }

  /** Made when it is asked for: an AbortController is the largest thing that an idle run would hold. */
  #signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#end && this.#end.status !== 'completed') this.#controller.abort(reasonOf(this.#end));
    return this.#controller.signal;
  }

  #take(value: unknown): void {
    if (this.#end) return;
    try {
      const text = envelopeText(value, this.context.options.envelopeLength);
      if (this.run.sessionId !== undefined) this.#text.add(value as Envelope);
      this.#append(text);
    } catch (error) {
      this.fail(error);
    }
  }

  #room(): Promise<void> | undefined {
    return this.#length - this.#turn < TURN_LENGTH ? undefined : this.#pause();
  }

  #append(text: string): void {
    this.#length += text.length;
    const commit = this.context.store.append(this.run, text);
    if (!commit) return this.followers.notify();
    if (commit === this.#commit) return;
    this.#commit = commit;
    this.#kept = commit.then(
      () => this.followers.notify(),
      (error: unknown) => this.fail(new QueryError('internal', UNKEPT, {}, { cause: error })),
    );
  }

  /** Gives the event loop a turn, what was appended its commit, and the fastest follower time to come near. */
  async #pause(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    await this.#kept;
    while (!this.#end && this.followers.lag(this.#length) > LAG_LENGTH) await this.followers.nextAdvance();
    this.#turn = this.#length;
  }

  #abandoned(): void {
    if (this.#end || this.disconnect === 'continue') return;
    if (this.disconnect === 'cancel') return this.stop({ status: 'cancelled' });
    this.#grace = setTimeout(() => this.stop({ status: 'cancelled' }), this.disconnect.graceMs);
  }

  #timedOut(): void {
    const seconds = this.context.options.timeoutMs / 1000;
    const message = `The run was stopped after ${seconds} s, the longest that a run may take.`;
    this.stop({ status: 'failed', error: { code: 'run_timeout', message } });
  }

  /** Ends the run with what went wrong: a `QueryError` as it is, anything else as a failure of the handler. */
  fail(error: unknown): void {
    // A handler that was asked to stop may well do so by throwing.
    if (this.#end) return;
    const failure = failureOf(error);
    Runner.#logger.error(`Run ${this.id}: ${failure.logged}`, shown(failure.cause));
    this.stop({ status: 'failed', error: { code: failure.code, message: failure.message } });
  }

  /** The handler was asked to stop and has not. */
  #overdue(): void {
    Runner.#logger.warn(
      `Run ${this.id}: the handler goes on ${this.context.options.stopDeadlineMs} ms after its signal was ` +
        'raised. Its run is ended without it; let the handler watch context.signal.',
    );
    this.context.onOverdue(1);
    void this.#finish(false);
  }

  async #finish(stopped: boolean): Promise<void> {
    this.#finishing = true;
    clearTimeout(this.#timer);
    let finished: Awaited<ReturnType<RunStore['finish']>>;
    try {
      finished = await this.context.store.finish(this.run, this.#end!, this.#text.value);
      this.followers.notify();
    } catch (error) {
      Runner.#logger.error(`Run ${this.id}: its end could not be recorded`, (error as Error).stack);
      this.followers.disconnectAll();
    }
    this.context.onEnd(this, finished?.next);
    this.#resolveEnded({ run: finished?.run, stopped });
  }
}

function reasonOf(end: RunEnd): Error {
  return new Error(`The run is ${end.status}.`);
}

/** What the caller is told of what a handler threw, and what the operator is. */
function failureOf(thrown: unknown): { code: ErrorCode; message: string; logged: string; cause: unknown } {
  // A proxy may throw when it is asked for its prototype.
  if (!types.isProxy(thrown) && thrown instanceof QueryError) {
    const { code, detail, cause } = thrown;
    return { code, message: detail, logged: detail, cause };
  }
  const message = 'The agent failed. The service has logged the cause.';
  return { code: 'handler_failed', message, logged: 'the handler failed', cause: thrown };
}

/** Anything that was thrown as text. Hostile things throw again when they are looked at. */
function shown(cause: unknown): string | undefined {
  if (cause === undefined) return undefined;
  try {
    return inspect(cause);
  } catch {
    return 'something that cannot be shown';
  }
}

function mismatches({ parts }: Query): string[] {
  return parts.flatMap((part) =>
    part.type === 'file' && part.detectedMimeType !== undefined
      ? [`"${part.name}" is said to be ${part.mimeType}, but its bytes are ${part.detectedMimeType}.`]
      : [],
  );
}
