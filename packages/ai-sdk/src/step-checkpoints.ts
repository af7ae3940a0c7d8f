import type { ModelMessage, ToolSet } from 'ai';
import type { QueryContext } from 'nest-agent-query';
import { keepSteps } from 'nest-agent-query-adapters';
import type { FinishedStep } from './ai-sdk-options.js';
import { type OpenCall, openCalls } from './open-calls.js';

/** What an attempt leaves to the next one. */
interface State {
  /** What the model and its tools have said so far. */
  messages: ModelMessage[];
  /** How many steps that are. */
  steps: number;
  /** Whether the answer is complete. */
  isComplete: boolean;
}

/** Stores a checkpoint after each step, and holds the next step back until it is stored. */
export class StepCheckpoints {
  /** What the SDK has been called with: of earlier attempts, and with the answers to questions. */
  #before: State;
  #state: State;
  #tools: ToolSet = {};
  /** Resolves when everything of the newest step was emitted. */
  #emitted: Promise<void>;
  #resolveEmitted!: () => void;
  #isOver = false;

  /** @param abort stops the run with an error of the checkpoint */
  constructor(
    private readonly context: Pick<QueryContext, 'runId' | 'resumed' | 'checkpoint'>,
    private readonly abort: (error: unknown) => void,
  ) {
    const state = context.resumed?.state as Partial<State> | undefined;
    this.#before = isState(state) ? state : { messages: [], steps: 0, isComplete: false };
    this.#state = this.#before;
    this.#emitted = this.#next();
  }

  /** What was said so far. */
  get state(): State {
    return this.#state;
  }

  /** The calls of the newest step that wait for answers. */
  get open(): OpenCall[] {
    return this.#state.isComplete ? [] : openCalls(this.#state.messages, this.#tools);
  }

  /** The tools of the agent, as far as they are known. */
  set tools(tools: ToolSet) {
    this.#tools = tools;
  }

  /** The SDK is called with these messages next: they have the answers to what was asked. */
  answered(messages: ModelMessage[]): void {
    this.#before = { ...this.#state, messages };
    this.#state = this.#before;
  }

  /** The calls that were asked for have their results, and all was emitted. */
  async executed(messages: ModelMessage[]): Promise<void> {
    await keepSteps(this.context, { ...this.#before, messages });
  }

  /** The answer is complete, and all was emitted: also the result, which the SDK has only after the last step. */
  async keepEnd(): Promise<void> {
    if (this.#state.isComplete) await keepSteps(this.context, this.#state);
  }

  /** Everything of the newest step was emitted. */
  stepEmitted(): void {
    this.#resolveEmitted();
  }

  /** The run is over. No step is waited for any more. */
  end(): void {
    this.#isOver = true;
    this.#resolveEmitted();
  }

  /**
   * The SDK calls this when a step has ended, and waits before it begins the next one. It ignores what this throws.
   *
   * @param isLast whether no step may follow
   */
  readonly stepFinished = async (
    { stepNumber, response, finishReason }: FinishedStep,
    isLast = false,
  ): Promise<void> => {
    await this.#emitted;
    if (this.#isOver) return;
    this.#emitted = this.#next();
    const messages = [...this.#before.messages, ...response.messages];
    const steps = this.#before.steps + stepNumber + 1;
    // In a step that ends for another reason, the SDK executes no tool either.
    const mayAsk = !isLast && (finishReason === 'tool-calls' || finishReason === 'stop');
    const asks = mayAsk && openCalls(messages, this.#tools).length > 0;
    const isComplete = isLast || (!asks && messages.at(-1)?.role !== 'tool');
    this.#state = { messages, steps, isComplete };
    // It is stored together with the questions, or with the end of the answer.
    if (asks || isComplete) return;
    try {
      await keepSteps(this.context, this.#state);
    } catch (error) {
      this.abort(error);
    }
  };

  #next(): Promise<void> {
    return new Promise((resolve) => (this.#resolveEmitted = resolve));
  }
}

function isState(state: Partial<State> | undefined): state is State {
  return Array.isArray(state?.messages) && Number.isInteger(state.steps);
}
