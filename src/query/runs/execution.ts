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
import type { RunTrace } from '../ports/run-tracer.js';

/** The async context of a run whose query was not submitted in this process: none. */
const NO_CONTEXT = new AsyncResource('Run');

/** One attempt of a run: calls the handler, within its time limit, and writes its answer. Only here do handler and store meet. */
export class Execution {
  /** The async context in which the query was submitted. */
  readonly #asyncContext: AsyncResource;
  readonly #context: ContextOfRun;
  readonly #answer: AnswerWriter;
  #consumption: Consumption | undefined;
  readonly #timeLimit: TimeLimit;

  /**
   * @param query what the handler is given; undefined if the store has it
   * @param releaseFiles called once, when the run no longer needs the files of the query
   */
  constructor(
    private readonly services: RunnerServices,
    private readonly run: LiveRun,
    private readonly query: Query | undefined,
    private releaseFiles: () => void,
    private readonly trace: RunTrace | undefined,
  ) {
    // `AsyncLocalStorage.snapshot` does the same, and takes a tenth of a small query on Node 20.
    this.#asyncContext = query ? new AsyncResource('Run') : NO_CONTEXT;
    this.#context = new ContextOfRun(services.store, services.files);
    this.#timeLimit = new TimeLimit(services.clock, services.options, (end) => run.stop(end));
    this.#answer = new AnswerWriter(services, run, this.#timeLimit);
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
    this.#timeLimit.clear();
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
    const { handler, options, kwargs } = this.services;
    const { query, checkpoint } = await this.#beginning(record);
    const typed = kwargs ? ((await kwargs.typed(query)) as Query) : query;
    const context = await this.#context.create(record, checkpoint, options.sessionTurns);
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
}
