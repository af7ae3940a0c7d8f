import { type ModelMessage, stepCountIs, streamText, type ToolSet } from 'ai';
import { type Envelope, log, message, type Query, type QueryContext, result } from 'nest-agent-query';
import { cutModel, modelFailure, ModelGate } from 'nest-agent-query-adapters';
import {
  type AiSdkChoice,
  type AiSdkOptions,
  type AiSdkSettings,
  type AiSdkSource,
  checkSource,
  type FinishedStep,
  hasOutput,
  isAgent,
} from './ai-sdk-options.js';
import { DecidedCalls } from './decided-calls.js';
import { DistinctCalls } from './distinct-calls.js';
import { gatedModel } from './gated-model.js';
import { GivenAnswers } from './given-answers.js';
import { partsOf } from './open-calls.js';
import { isCut, PartEnvelopes, type StreamPart } from './part-envelopes.js';
import { promptOf } from './prompt.js';
import { StepCheckpoints } from './step-checkpoints.js';
import { StepLimit } from './step-limit.js';

/** The most steps of an answer, as `ToolLoopAgent` has it. */
const MAX_STEPS = 20;

/** One execution of an agent. */
export class AiSdkRun<K extends object> {
  readonly #stop = new AbortController();
  readonly #checkpoints: StepCheckpoints;
  readonly #gate = new ModelGate();
  readonly #translation: PartEnvelopes;
  #hasBegun = false;
  #lastReason: string | undefined;
  #failure: unknown;
  /** The structured output of the stream that is read. */
  #output: (() => PromiseLike<unknown> | undefined) | undefined;

  constructor(
    private readonly agent: AiSdkSource | AiSdkChoice<K>,
    private readonly settings: AiSdkSettings,
    private readonly context: QueryContext,
  ) {
    this.#translation = new PartEnvelopes(context.runId);
    this.#checkpoints = new StepCheckpoints(context, (error) => this.#fail(error));
  }

  /** The answer. When this ends in any way, the request to the model is aborted. */
  async *envelopes(query: Query<K>): AsyncGenerator<Envelope> {
    if (this.#checkpoints.state.isComplete) return;
    const { signal } = this.context;
    try {
      const source = await this.#source(query);
      const { messages, notes } = await promptOf(query, this.context, this.settings);
      yield* notes;
      const tools = source.tools ?? {};
      this.#checkpoints.tools = tools;
      do {
        yield* this.#ask(tools);
        yield* this.#go(source, tools, messages);
      } while (this.#checkpoints.open.length > 0);
      if (this.#lastReason === 'tool-calls')
        yield log('The answer ends here because the agent may take no more steps');
      if (this.#lastReason === 'stop' && hasOutput(source)) yield result(await this.#output!());
      await this.#checkpoints.keepEnd();
    } catch (error) {
      if (!signal.aborted) throw modelFailure(error, this.#hasBegun) ?? error;
    } finally {
      this.#checkpoints.end();
      this.#gate.open();
      this.#stop.abort();
    }
  }

  /** Asks what the newest step needs. A call that is approved may be the caller's to execute: that is asked then. */
  async *#ask(tools: ToolSet): AsyncGenerator<Envelope> {
    for (let { open } = this.#checkpoints; open.length > 0; { open } = this.#checkpoints) {
      const { state } = this.#checkpoints;
      const questions = open.map(({ question }) => question);
      const answers = await this.context.ask(questions, { checkpoint: state });
      const given = new GivenAnswers(state.messages, tools);
      await given.add(open, answers);
      yield* given.envelopes;
      this.#checkpoints.answered(given.messages);
    }
  }

  /** Lets the SDK go on, until it has ended or needs answers. */
  async *#go(source: AiSdkSource, tools: ToolSet, prompt: ModelMessage[]): AsyncGenerator<Envelope> {
    const { messages } = this.#checkpoints.state;
    const decided = new DecidedCalls(messages, tools);
    const translation = this.#translation;
    translation.refusals = decided.refusals;
    const parts = await this.#start(source, [...prompt, ...messages]);
    this.#gate.startReading();
    for await (const part of parts) {
      this.#gate.stopReading();
      if (part.type === 'error') throw part.error as Error;
      // Most parts are of this type: what they cost is what an answer costs.
      if (part.type === 'text-delta') {
        this.#hasBegun = true;
        if (part.text !== '') yield message(part.text);
        this.#gate.startReading();
        continue;
      }
      for (const envelope of translation.of(part)) {
        this.#hasBegun = true;
        yield envelope;
      }
      if (isCut(part)) throw cutModel();
      const executed = await decided.add(part);
      if (executed) await this.#checkpoints.executed(executed);
      if (part.type === 'finish-step') this.#checkpoints.stepEmitted();
      if (part.type === 'finish') this.#lastReason = part.finishReason;
      this.#gate.startReading();
    }
    // A run that is asked to stop ends its stream in order.
    if (this.#failure !== undefined) throw this.#failure as Error;
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
      const onStepFinish = async (step: FinishedStep) => stepFinished(step);
      const stream = await source.stream({ ...call, onStepFinish, ...QUIET });
      this.#output = () => stream.output;
      return stream.fullStream as AsyncIterable<StreamPart>;
    }
    const { instructions, system = instructions, stopWhen = stepCountIs(MAX_STEPS), ...options } = source;
    const limit = new StepLimit(stopWhen, this.#checkpoints.state.steps);
    const stream = streamText({
      ...QUIET,
      ...options,
      ...(system !== undefined && { system }),
      ...call,
      model: gatedModel(options.model, this.#gate, new DistinctCalls(this.context.runId, this.#calls())),
      stopWhen: () => limit.isReached,
      ...callbackOfSteps(options, async (step) => {
        await limit.add(step).catch((error: unknown) => this.#fail(error));
        await stepFinished(step, limit.isReached);
      }),
    });
    this.#output = () => stream.output;
    return stream.fullStream;
  }

  /** The ids of the calls of the conversation so far. */
  *#calls(): Generator<string> {
    for (const { envelopes } of this.context.history)
      for (const { type, data } of envelopes) if (type === 'tool_call') yield (data as { id: string }).id;
    for (const message of this.#checkpoints.state.messages)
      for (const part of partsOf(message)) if (part.type === 'tool-call') yield part.toolCallId;
  }

  #fail(error: unknown): void {
    this.#failure = error;
    this.#stop.abort(error);
  }
}

type StepCallback = NonNullable<AiSdkOptions['onStepFinish']>;

/** What the SDK calls after each step. Version 7 prefers another name. */
function callbackOfSteps(options: AiSdkOptions, finished: StepCallback): { onStepFinish: StepCallback } {
  const { onStepEnd, onStepFinish } = options as AiSdkOptions & { onStepEnd?: StepCallback };
  const callback: StepCallback = async (step) => {
    try {
      await (onStepEnd ?? onStepFinish)?.(step);
    } finally {
      await finished(step);
    }
  };
  return onStepEnd ? ({ onStepFinish: callback, onStepEnd: callback } as never) : { onStepFinish: callback };
}

/** The SDK would write each error of the model to the console. */
const QUIET = { onError: () => undefined };
