import { AsyncResource } from 'node:async_hooks';
import type { TurnAnswer } from 'nest-agent-query-client';
import type { Query, QueryContext } from '../../ports/agent-handler.js';
import type { RunRecord } from '../../ports/run-store.js';
import type { RunTrace } from '../../ports/run-tracer.js';
import { type Consumption, consume } from './answer.js';
import { AnswerWriter } from './answer-writer.js';
import { type EarlierText, separated } from '../earlier-texts.js';
import { Pauses } from './pauses.js';
import { ContextOfRun } from './query-context.js';
import type { LiveRun, RunnerServices } from '../runner-services.js';
import { TimeLimit } from './time-limit.js';

/** The async context of a run whose query was not submitted in this process: none. */
const NO_CONTEXT = new AsyncResource('Run');

/** What a run brings from its admission in this process. A run that was taken brings a trace only. */
export interface Submission {
  /** What the handler is given. Default: the store has it. */
  query?: Query;
  /** See `QueryOptions.earlier`. Default: the store has it, if it has the query. */
  earlier?: readonly EarlierText[] | undefined;
  /** The async context in which the query was submitted. */
  asyncContext?: AsyncResource;
  /** Called once, when the run no longer needs the files of the query. */
  releaseFiles?: (() => void) | undefined;
  /** Undefined if there is no tracer. */
  trace: RunTrace | undefined;
}

/** What a handler is called with. */
interface Beginning extends Pick<Submission, 'earlier'> {
  query: Query;
  /** The state of the last checkpoint of an earlier attempt, as JSON. */
  checkpoint?: string | undefined;
}

/** One attempt of a run: calls the handler, within its time limit, and writes its answer. Only here do handler and store meet. */
export class Execution {
  readonly #context: ContextOfRun;
  readonly #timeLimit: TimeLimit;
  readonly #answer: AnswerWriter;
  #consumption: Consumption | undefined;

  constructor(
    private readonly services: RunnerServices,
    private readonly run: LiveRun,
    private readonly record: RunRecord,
    private readonly submission: Submission,
  ) {
    this.#context = new ContextOfRun(services.store, services.files);
    this.#timeLimit = new TimeLimit(services, run);
    this.#answer = new AnswerWriter(services, run, record, this.#timeLimit);
  }

  get kept(): TurnAnswer {
    return this.#answer.kept;
  }

  /** Calls the handler, and resolves when its answer is written. Rejects with what the handler throws. */
  execute(): Promise<void> {
    const { trace } = this.submission;
    return this.#inContext(() => {
      trace?.started(this.record.attempt);
      return trace ? trace.within(() => this.#handle()) : this.#handle();
    });
  }

  /** The end of the run is decided: the time limit does not count any more. */
  clearTimeLimit(): void {
    this.#timeLimit.clear();
  }

  /** Asks the handler to stop, in its own context: this may be another request. */
  stop(reason: Error): void {
    const { trace } = this.submission;
    const step = () => {
      this.#context.abort(reason);
      this.#consumption?.stop();
    };
    this.#inContext(() => (trace ? trace.within(step) : step()));
    this.#answer.stop();
  }

  close(): void {
    this.#context.close();
  }

  #inContext<T>(step: () => T): T {
    const { asyncContext = NO_CONTEXT } = this.submission;
    return asyncContext.runInAsyncScope(step);
  }

  async #handle(): Promise<void> {
    const { run } = this;
    const { handler, options, settings } = this.services;
    const { record, submission } = this;
    const isFirst = submission.query && record.attempt === 1;
    const { query, earlier, checkpoint } = isFirst ? (submission as Beginning) : await this.#beginning();
    const typed = settings.kwargs ? ((await settings.kwargs.typed(query)) as Query) : query;
    const ask: QueryContext['ask'] = (...asked) =>
      new Pauses(this.services, run, record, this.#answer, this.#timeLimit).ask(...asked);
    const context = await this.#context.create(record, {
      checkpoint,
      earlier,
      sessionTurns: options.sessionTurns,
      ask,
    });
    if (run.hasEnded) return;
    this.#timeLimit.start();
    const answer = await handler.handle(typed, context);
    // An answer that was never consumed holds nothing that must be closed.
    if (run.hasEnded) return;
    this.#consumption = consume(answer, this.#answer);
    // The first value of a synchronous answer may have stopped the run.
    if (run.hasEnded) this.#consumption.stop();
    await this.#consumption.ended;
    await this.#answer.settled();
  }

  /** What the store has of an earlier attempt, or of a query that was submitted in another process. */
  async #beginning(): Promise<Beginning> {
    const { record } = this;
    const { query, earlier } = this.submission;
    const { parts, kwargs, answer, checkpoint } = await this.services.store.query(record);
    this.#answer.continue(answer);
    if (query) return { query, earlier, checkpoint };
    const { metadata } = record;
    const stored = separated(parts);
    const restored = { parts: await this.#context.restore(record.id, stored.own), kwargs };
    return { query: metadata ? { ...restored, metadata } : restored, earlier: stored.earlier, checkpoint };
  }
}
