import type { ModelMessage } from 'ai';
import type { QueryContext } from 'nest-agent-query';
import { keepSteps } from 'nest-agent-query-adapters';
import type { FinishedStep } from './ai-sdk-options.js';

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
  readonly #before: State;
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
    this.#emitted = this.#next();
  }

  /** What the attempts before have left. */
  get before(): State {
    return this.#before;
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

  /** The SDK calls this when a step has ended, and waits before it begins the next one. It ignores what this throws. */
  readonly stepFinished = async ({ stepNumber, response }: FinishedStep): Promise<void> => {
    await this.#emitted;
    if (this.#isOver) return;
    this.#emitted = this.#next();
    const messages = [...this.#before.messages, ...response.messages];
    const steps = this.#before.steps + stepNumber + 1;
    try {
      const isComplete = messages.at(-1)?.role !== 'tool';
      await keepSteps(this.context, { messages, steps, isComplete });
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
