import { AsyncResource } from 'node:async_hooks';
import type { TurnAnswer } from 'nest-agent-query-client';
import { OpenedFiles } from '../files/files.js';
import type { Query } from '../ports/agent-handler.js';
import type { RunRecord } from '../ports/run-store.js';
import { type Consumption, consume } from './answer.js';
import { AnswerWriter } from './answer-writer.js';
import { ContextOfRun } from './query-context.js';
import type { LiveRun, RunnerServices } from './runner-services.js';
import { TimeLimit } from './time-limit.js';
import type { GuardedTrace } from './traces.js';

/** The async context of a run whose query was not submitted in this process: none. */
const NO_CONTEXT = new AsyncResource('Run');

/** One attempt of a run: calls the handler, within its time limit, and writes its answer. Only here do handler and store meet. */
export class Execution {
  /** The async context in which the query was submitted. */
  readonly #asyncContext: AsyncResource;
  readonly #context: ContextOfRun;
  readonly #answer: AnswerWriter;
  #consumption: Consumption | undefined;
  #timeLimit: TimeLimit | undefined;

  /**
   * @param query what the handler is given; undefined if the store has it
   * @param releaseFiles called once, when the run no longer needs the files of the query
   */
  constructor(
    private readonly services: RunnerServices,
    private readonly run: LiveRun,
    private readonly query: Query | undefined,
    private releaseFiles: () => void,
    private readonly trace: GuardedTrace | undefined,
  ) {
    // `AsyncLocalStorage.snapshot` does the same, and takes a tenth of a small query on Node 20.
    this.#asyncContext = query ? new AsyncResource('Run') : NO_CONTEXT;
    this.#context = new ContextOfRun(services.store, services.files);
    this.#answer = new AnswerWriter(services, run, (isHeldBack) => this.#holdBack(isHeldBack));
  }

  get kept(): TurnAnswer {
    return this.#answer.kept;
  }

  /** Calls the handler, and resolves when its answer is written. Rejects with what the handler throws. */
  execute(record: RunRecord): Promise<void> {
    const { trace } = this;
    this.#answer.begin(record);
    return this.#asyncContext.runInAsyncScope(() => {
      if (!trace) return this.#handle(record);
      trace.started(record.attempt);
      return trace.within(() => this.#handle(record));
    });
  }

  /** The end of the run is decided: the time limit does not count any more. */
  clearTimeLimit(): void {
    this.#timeLimit?.clear();
  }

  /** Asks the handler to stop, in its own context: this may be another request. */
  stop(reason: Error): void {
    const { trace } = this;
    const step = () => {
      this.#context.abort(reason);
      this.#consumption?.stop();
    };
    this.#asyncContext.runInAsyncScope(trace ? () => trace.within(step) : step);
    this.#answer.stop();
  }

  /** Gives up the files of the query and of earlier turns. Can be called again. */
  close(): void {
    const { releaseFiles } = this;
    this.releaseFiles = () => undefined;
    releaseFiles();
    this.#context.close();
  }

  async #handle(record: RunRecord): Promise<void> {
    const { run } = this;
    const { handler, options, kwargs, clock } = this.services;
    const { query, checkpoint } = await this.#beginning(record);
    const typed = kwargs ? ((await kwargs.typed(query)) as Query) : query;
    const context = await this.#context.create(record, checkpoint, options.sessionTurns);
    if (run.hasEnded) return;
    const timedOut = `The run was stopped after ${options.timeoutMs / 1000} s, the time limit of a run.`;
    this.#timeLimit = new TimeLimit(clock, options.timeoutMs, () => this.#fail('run_timeout', timedOut));
    const answer = await handler.handle(typed, context);
    // An answer that was never consumed holds nothing that must be closed.
    if (run.hasEnded) return;
    this.#consumption = consume(answer, {
      take: (value) => this.#answer.take(value),
      pause: () => this.#answer.pause(),
    });
    // The first value of a synchronous answer may have stopped the run.
    if (run.hasEnded) this.#consumption.stop();
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
      query: { parts: await this.services.files.restore(this.run.id, parts, opened), kwargs },
      checkpoint,
    };
  }

  /** The time in which slow followers hold the handler back does not count as its own; it has a limit of its own. */
  #holdBack(isHeldBack: boolean): void {
    if (this.run.hasEnded) return;
    const { backpressureMs } = this.services.options;
    const message = `The run was stopped: its followers have not read for ${backpressureMs / 1000} s.`;
    if (isHeldBack) this.#timeLimit?.pause(backpressureMs, () => this.#fail('followers_stalled', message));
    else this.#timeLimit?.resume();
  }

  #fail(code: 'followers_stalled' | 'run_timeout', message: string): void {
    this.run.stop({ status: 'failed', error: { code, message } });
  }
}
