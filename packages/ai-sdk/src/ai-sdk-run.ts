import {
  type ModelMessage,
  stepCountIs,
  type StepResult,
  type StopCondition,
  streamText,
  type ToolSet,
} from 'ai';
import { type Envelope, log, message, type Query, type QueryContext } from 'nest-agent-query';
import { cutModel, modelFailure, ModelGate } from 'nest-agent-query-adapters';
import {
  type AiSdkChoice,
  type AiSdkOptions,
  type AiSdkSettings,
  type AiSdkSource,
  checkSource,
  isAgent,
} from './ai-sdk-options.js';
import { gatedModel } from './gated-model.js';
import { isCut, PartEnvelopes, type StreamPart } from './part-envelopes.js';
import { promptOf } from './prompt.js';
import { StepCheckpoints } from './step-checkpoints.js';

/** The most steps of an answer, as `ToolLoopAgent` has it. */
const MAX_STEPS = 20;

/** One execution of an agent. */
export class AiSdkRun<K extends object> {
  readonly #stop = new AbortController();
  readonly #checkpoints: StepCheckpoints;
  readonly #gate = new ModelGate();
  #failure: unknown;

  constructor(
    private readonly agent: AiSdkSource | AiSdkChoice<K>,
    private readonly settings: AiSdkSettings,
    private readonly context: QueryContext,
  ) {
    this.#checkpoints = new StepCheckpoints(context, (error) => {
      this.#failure = error;
      this.#stop.abort(error);
    });
  }

  /** The answer. When this ends in any way, the request to the model is aborted. */
  async *envelopes(query: Query<K>): AsyncGenerator<Envelope> {
    if (this.#checkpoints.before.isComplete) return;
    const { signal } = this.context;
    let hasBegun = false;
    let lastReason: string | undefined;
    try {
      const source = await this.#source(query);
      const { messages, notes } = await promptOf(query, this.context, this.settings);
      yield* notes;
      const parts = await this.#start(source, [...messages, ...this.#checkpoints.before.messages]);
      const translation = new PartEnvelopes(this.context.runId);
      this.#gate.startReading();
      for await (const part of parts) {
        this.#gate.stopReading();
        if (part.type === 'error') throw part.error as Error;
        // Most parts are of this type: what they cost is what an answer costs.
        if (part.type === 'text-delta') {
          hasBegun = true;
          if (part.text !== '') yield message(part.text);
          this.#gate.startReading();
          continue;
        }
        for (const envelope of translation.of(part)) {
          hasBegun = true;
          yield envelope;
        }
        if (isCut(part)) throw cutModel();
        if (part.type === 'finish-step') this.#checkpoints.stepEmitted();
        if (part.type === 'finish') lastReason = part.finishReason;
        this.#gate.startReading();
      }
      // A run that is asked to stop ends its stream in order.
      if (this.#failure !== undefined) throw this.#failure as Error;
      if (lastReason === 'tool-calls')
        yield log('The answer ends here because the agent may take no more steps');
    } catch (error) {
      if (!signal.aborted) throw modelFailure(error, hasBegun) ?? error;
    } finally {
      this.#checkpoints.end();
      this.#gate.open();
      this.#stop.abort();
    }
  }

  async #source(query: Query<K>): Promise<AiSdkSource> {
    const { agent } = this;
    if (typeof agent !== 'function') return agent;
    const source = await agent(query, this.context);
    checkSource(source);
    return source;
  }

  async #start(source: AiSdkSource, messages: ModelMessage[]): Promise<AsyncIterable<StreamPart>> {
    const call = { messages, abortSignal: AbortSignal.any([this.context.signal, this.#stop.signal]) };
    const { stepFinished } = this.#checkpoints;
    if (isAgent(source)) {
      const { fullStream } = await source.stream({ ...call, onStepFinish: stepFinished, ...QUIET });
      return fullStream as AsyncIterable<StreamPart>;
    }
    const { instructions, system = instructions, stopWhen = stepCountIs(MAX_STEPS), ...options } = source;
    const { fullStream } = streamText({
      ...QUIET,
      ...options,
      ...(system !== undefined && { system }),
      ...call,
      model: gatedModel(options.model, this.#gate),
      stopWhen: this.#countingAll(stopWhen),
      onStepFinish: async (step) => {
        await options.onStepFinish?.(step);
        await stepFinished(step);
      },
    });
    return fullStream;
  }

  /** A condition sees the steps of earlier attempts too, as empty ones: their number is what most conditions ask for. */
  #countingAll(stopWhen: NonNullable<AiSdkOptions['stopWhen']>): StopCondition<ToolSet>[] {
    const earlier = Array.from({ length: this.#checkpoints.before.steps }, () => EMPTY_STEP);
    return [stopWhen].flat().map(
      (condition): StopCondition<ToolSet> =>
        ({ steps }) =>
          condition({ steps: [...earlier, ...steps] }),
    );
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

/** The SDK would write each error of the model to the console. */
const QUIET = { onError: () => undefined };
