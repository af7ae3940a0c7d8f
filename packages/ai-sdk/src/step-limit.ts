import type { StepResult, StopCondition, ToolSet } from 'ai';
import type { AiSdkOptions } from './ai-sdk-options.js';

/**
 * Whether an answer may have another step. The conditions see the steps before, of earlier attempts and before questions, as empty
 * ones: their number is what most conditions ask for. A step that may be the last one asks nothing.
 */
export class StepLimit {
  readonly #conditions: StopCondition<ToolSet>[];
  readonly #steps: StepResult<ToolSet>[];
  #isReached = false;

  /** @param before the number of steps before */
  constructor(stopWhen: NonNullable<AiSdkOptions['stopWhen']>, before: number) {
    this.#conditions = [stopWhen].flat();
    this.#steps = Array.from({ length: before }, () => EMPTY_STEP);
  }

  /** Whether the newest step is the last one. */
  get isReached(): boolean {
    return this.#isReached;
  }

  /** A step has ended. @throws what a condition throws */
  async add(step: StepResult<ToolSet>): Promise<void> {
    this.#steps.push(step);
    if (step.toolCalls.length === 0) return;
    const steps = this.#steps;
    const met = await Promise.all(this.#conditions.map(async (condition) => condition({ steps })));
    this.#isReached = met.some(Boolean);
  }
}

const EMPTY_STEP = {
  content: [],
  text: '',
  reasoning: [],
  files: [],
  sources: [],
  toolCalls: [],
  toolResults: [],
  finishReason: 'tool-calls',
  usage: {},
} as unknown as StepResult<ToolSet>;
