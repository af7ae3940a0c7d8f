import {
  type Envelope,
  type Query,
  type QueryContext,
  type ResolvedInput,
  toolResult,
} from 'nest-agent-query';
import {
  cutModel,
  decisionOf,
  keepSteps,
  ModelGate,
  notExecuted,
  type PromptMessage,
  questionKey,
  threadOf,
} from 'nest-agent-query-adapters';
import { ChunkEnvelopes } from './chunk-envelopes.js';
import { Execution } from './execution.js';
import { mastraFailure, stateLost } from './failures.js';
import { gatedModel } from './gated-model.js';
import { AnswerRecord, type KeptAnswer } from './kept-answer.js';
import type { MastraAgent, MastraMemory, MastraSettings, MastraStream } from './mastra-options.js';
import { answerMessages, messagesOf } from './messages.js';
import { type OpenCall, openCallOf, questionOf } from './open-calls.js';
import { waitingCalls } from './snapshots.js';

/** What the framework gives to `prepareStep`, and takes from it, as far as it is used. */
type PrepareStep = (step: { model: object }) => Promise<object | undefined> | object | undefined;

/** Chunks after which nothing of a step follows. */
const STEP_ENDS = ['step-finish', 'finish'];

/** An attempt of one run. */
export class MastraRun<K extends object> {
  readonly #modelGate = new ModelGate();
  readonly #record: AnswerRecord;
  readonly #envelopes: ChunkEnvelopes;
  /** Why calls were refused, by their ids. */
  readonly #refusals = new Map<string, string>();
  /** The keys of the questions that were answered. */
  readonly #asked: string[];
  /** The calls that wait for a person, and the framework's name of the execution that has made them. */
  #calls: OpenCall[];
  #mastraRunId: string;
  #execution: Execution | undefined;
  #hasBegun = false;
  #hasFinished = false;

  constructor(
    private readonly agent: MastraAgent,
    private readonly settings: MastraSettings<K>,
    private readonly query: Query<K>,
    private readonly context: QueryContext,
  ) {
    const { envelopes = [], asked = [], pause } = (context.resumed?.state ?? {}) as Partial<KeptAnswer>;
    this.#record = new AnswerRecord(envelopes);
    this.#asked = [...asked];
    this.#calls = pause?.calls ?? [];
    this.#mastraRunId = pause?.mastraRunId ?? '';
    this.#envelopes = new ChunkEnvelopes(context.runId, this.#refusals);
  }

  /** The answer of the agent. */
  async *envelopes(): AsyncGenerator<Envelope> {
    const { signal } = this.context;
    try {
      if (this.#calls.length === 0) yield* this.#begin();
      while (this.#calls.length > 0) yield* this.#ask();
      if (!this.#hasFinished && !signal.aborted)
        throw cutModel(new Error('The stream of the agent has no end.'));
    } catch (error) {
      if (signal.aborted) return;
      throw mastraFailure(error, this.#hasBegun);
    } finally {
      this.#execution?.stop();
      this.#modelGate.open();
    }
  }

  /** Lets the agent begin, after what it has said and done so far. */
  async *#begin(tellsNotes = true): AsyncGenerator<Envelope> {
    const { messages, notes } = await messagesOf(
      this.query,
      this.context,
      this.settings,
      await this.#knowsSession(),
    );
    if (tellsNotes) yield* notes;
    // A memory has the question since the framework has waited.
    const question = this.#hasMemory && this.#asked.length > 0 ? [] : messages;
    const input: PromptMessage[] = [
      ...question,
      ...answerMessages(this.context.runId, this.#record.envelopes),
    ];
    yield* this.#read(await this.#execute((options) => this.agent.stream(input as never, options as never)));
  }

  /**
   * What the agent says and does, until it waits for a person or has ended.
   *
   * @param maySteps whether it may begin another step
   * @returns whether it was stopped before another step
   */
  async *#read(execution: Execution, maySteps = true): AsyncGenerator<Envelope, boolean> {
    let isStepEnd = false;
    for (;;) {
      this.#modelGate.startReading();
      const next = isStepEnd
        ? await execution.nextOrStep(() => this.#stepEnded(maySteps))
        : await execution.next();
      if (!next) return true;
      if (next.done) return false;
      this.#modelGate.stopReading();
      const chunk = next.value;
      isStepEnd = STEP_ENDS.includes(chunk.type);
      this.#hasFinished ||= chunk.type === 'finish';
      const call = openCallOf(chunk);
      if (call) this.#calls.push(call);
      const envelope = this.#envelopes.of(chunk);
      if (envelope) yield this.#told(envelope);
    }
  }

  #told(envelope: Envelope): Envelope {
    this.#hasBegun = true;
    this.#record.add(envelope);
    return envelope;
  }

  async #stepEnded(maySteps: boolean): Promise<boolean> {
    const { envelopes } = this.#record;
    if (this.settings.restarts > 0) await keepSteps(this.context, { envelopes, asked: this.#asked });
    return maySteps;
  }

  /** Asks about the calls that wait, and goes on with the answers. */
  async *#ask(): AsyncGenerator<Envelope> {
    const { agent, context } = this;
    const calls = this.#calls;
    const mastraRunId = this.#mastraRunId;
    // Nobody is asked in vain.
    await waitingCalls(agent, mastraRunId);
    const keys = [...this.#asked];
    for (const { id } of calls) keys.push(questionKey(id, keys));
    const ask = calls.map((call, index) => questionOf(keys[this.#asked.length + index]!, call));
    const { envelopes } = this.#record;
    const kept: KeptAnswer = { envelopes, asked: this.#asked, pause: { mastraRunId, calls } };
    const answers = await context.ask(ask, { checkpoint: kept });
    this.#asked.splice(0, Infinity, ...keys);
    this.#calls = [];
    if (calls.some(({ kind }, index) => kind === 'input' && answers[index]!.value === undefined))
      yield* this.#giveUp(calls, answers);
    else yield* this.#goOn(calls, answers);
  }

  async *#goOn(calls: OpenCall[], answers: ResolvedInput[]): AsyncGenerator<Envelope> {
    const waiting = await waitingCalls(this.agent, this.#mastraRunId);
    // An earlier attempt may have gone on with some of them.
    const open = calls.filter(({ id }) => waiting.has(id));
    if (open.length === 0) throw stateLost();
    let isStopped = false;
    for (const call of open) {
      const answer = answers[calls.indexOf(call)]!;
      const execution = await this.#execute((options) => this.#resume(call, answer, options), true);
      // Version 0.24 forgets the question where it goes on with several calls: it begins anew after their step.
      isStopped = yield* this.#read(execution, calls.length === 1);
    }
    if (isStopped) yield* this.#begin(false);
  }

  #resume(call: OpenCall, answer: ResolvedInput, options: object): Promise<MastraStream> {
    const { agent } = this;
    const resumed = { ...options, runId: this.#mastraRunId, toolCallId: call.id };
    if (call.kind === 'input') return agent.resumeStream!(answer.value, resumed as never);
    const { isApproved, reason } = decisionOf(answer);
    // An id may have been that of an earlier call.
    this.#refusals.delete(call.id);
    if (isApproved) return agent.approveToolCall!(resumed as never);
    this.#refusals.set(call.id, notExecuted(reason));
    return agent.declineToolCall!({ ...resumed, reason: notExecuted(reason) } as never);
  }

  /** The framework cannot go on with a tool whose input nobody gives: the agent begins anew, and is told so. */
  async *#giveUp(calls: OpenCall[], answers: ResolvedInput[]): AsyncGenerator<Envelope> {
    for (const id of this.#record.openCalls) {
      const index = calls.findIndex((call) => call.id === id);
      yield this.#told(toolResult(id, whyNoResult(calls[index], answers[index]), { isError: true }));
    }
    yield* this.#begin(false);
  }

  /** Whether the memory of the agent has the session: not that of a fork, or one whose turns were replaced. */
  async #knowsSession(): Promise<boolean> {
    const { owner, session, history } = this.context;
    if (!this.#hasMemory || !session || history.length === 0) return this.#hasMemory;
    const memory = (await this.agent.getMemory()) as MastraMemory;
    return Boolean(await memory.getThreadById({ threadId: threadOf({ owner, id: session.id }) }));
  }

  get #hasMemory(): boolean {
    return this.context.session !== undefined && this.agent.hasOwnMemory();
  }

  async #execute(begin: (options: object) => Promise<MastraStream>, resumes = false): Promise<Execution> {
    const { owner, session, signal } = this.context;
    const further = (await this.settings.stream?.(this.query, this.context)) ?? {};
    const thread = session && threadOf({ owner, id: session.id });
    this.#execution?.stop();
    const execution = new Execution();
    this.#execution = execution;
    await execution.begin(
      signal,
      (hooks) =>
        begin({
          ...further,
          prepareStep: this.#prepareStep(hooks.beforeStep, further['prepareStep'] as PrepareStep | undefined),
          abortSignal: hooks.signal,
          ...(this.#hasMemory && { memory: { thread, resource: owner } }),
        }),
      resumes,
    );
    this.#mastraRunId = execution.runId;
    return execution;
  }

  /** The framework asks for it before each step, and waits. */
  #prepareStep(beforeStep: () => Promise<void>, further: PrepareStep | undefined): PrepareStep {
    return async (step) => {
      await beforeStep();
      const changes = (await further?.(step)) as { model?: object } | undefined;
      const model = changes?.model ?? step.model;
      if (!isModel(model)) return changes;
      return { ...changes, model: gatedModel(model, this.#modelGate, this.#refusals) };
    };
  }
}

/** @param call undefined if it did not wait any more */
function whyNoResult(call: OpenCall | undefined, answer: ResolvedInput | undefined): string {
  if (!call || !answer) return 'The call was made. Its result is not known.';
  const { isApproved, reason } = decisionOf(answer);
  const isGiven = isApproved || (call.kind === 'input' && answer.value !== undefined);
  return notExecuted(isGiven ? 'Another call of this step has got no input.' : reason);
}

/** Whether the framework has found the model. It may have its name only. */
function isModel(model: unknown): model is object {
  return typeof (model as { doStream?: unknown } | undefined)?.doStream === 'function';
}
