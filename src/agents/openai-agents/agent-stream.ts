import type { AgentInputItem, RunState, RunStreamEvent, StreamedRunResult } from '@openai/agents';
import type { AnyAgent } from './framework.js';
import { StepGate } from '../translation/index.js';

export type State = RunState<unknown, AnyAgent>;

type Result = StreamedRunResult<unknown, AnyAgent>;

/** Starts the framework with what it is told before each call of a model, and with the signal that stops it. */
type Start = (hooks: { beforeModel: () => Promise<void>; signal: AbortSignal }) => Promise<Result>;

export type AgentInput = AgentInputItem[] | State;

/** What the framework does from its start until it has an output, or needs an approval. */
export class AgentStream {
  readonly #gate = new StepGate();
  readonly #stopping = new AbortController();
  readonly #stop = () => this.#stopping.abort();
  #result: Result | undefined;
  #events!: AsyncIterator<RunStreamEvent>;

  constructor(private readonly signal: AbortSignal) {}

  get hasStarted(): boolean {
    return this.#result !== undefined;
  }

  get result(): Result {
    return this.#result!;
  }

  async start(start: Start): Promise<void> {
    this.signal.addEventListener('abort', this.#stop, { once: true });
    if (this.signal.aborted) this.#stop();
    const beforeModel = () => this.#gate.pass();
    this.#result = await start({ beforeModel, signal: this.#stopping.signal });
    this.#events = this.#result[Symbol.asyncIterator]();
  }

  /** The next event. */
  next(): Promise<IteratorResult<RunStreamEvent>> {
    return this.#events.next();
  }

  /**
   * The next event where a step may end before it.
   *
   * @param stepEnded called when a step has ended and all its events are read; the next one begins when it has returned
   */
  async nextOrStep(stepEnded: () => Promise<void>): Promise<IteratorResult<RunStreamEvent>> {
    const next = this.#events.next();
    if (await this.#gate.isReachedBefore(next)) {
      await stepEnded();
      this.#gate.release();
    }
    return next;
  }

  /** Stops what still executes, and waits for it. */
  async end(): Promise<void> {
    this.signal.removeEventListener('abort', this.#stop);
    this.#stop();
    this.#gate.open();
    await this.#result?.completed.catch(() => undefined);
  }
}
