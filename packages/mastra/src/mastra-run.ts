import type { Envelope, Query, QueryContext } from 'nest-agent-query';
import {
  cutModel,
  keepSteps,
  ModelGate,
  type PromptMessage,
  StepGate,
  threadOf,
} from 'nest-agent-query-adapters';
import { ChunkEnvelopes, type MastraChunk } from './chunk-envelopes.js';
import { mastraFailure } from './failures.js';
import { gatedModel } from './gated-model.js';
import { AnswerRecord, type KeptAnswer } from './kept-answer.js';
import type { MastraAgent, MastraSettings } from './mastra-options.js';
import { answerMessages, messagesOf } from './messages.js';

/** What the framework gives to `prepareStep`, and takes from it, as far as it is used. */
type PrepareStep = (step: { model: object }) => Promise<object | undefined> | object | undefined;

/** Chunks after which nothing of a step follows. */
const STEP_ENDS = ['step-finish', 'finish'];

/** An attempt of one run. */
export class MastraRun<K extends object> {
  readonly #gate = new StepGate();
  readonly #modelGate = new ModelGate();
  readonly #record: AnswerRecord;
  readonly #before: Envelope[];
  readonly #stopping = new AbortController();

  constructor(
    private readonly agent: MastraAgent,
    private readonly settings: MastraSettings<K>,
    private readonly query: Query<K>,
    private readonly context: QueryContext,
  ) {
    this.#before = (context.resumed?.state as KeptAnswer | undefined)?.envelopes ?? [];
    this.#record = new AnswerRecord(this.#before);
  }

  /** The answer of the agent. */
  async *envelopes(): AsyncGenerator<Envelope> {
    const { signal, runId } = this.context;
    let hasBegun = false;
    try {
      const { session } = this.context;
      const hasMemory = session !== undefined && this.agent.hasOwnMemory();
      const { messages, notes } = await messagesOf(this.query, this.context, this.settings, hasMemory);
      yield* notes;
      const input = [...messages, ...answerMessages(runId, this.#before)];
      const chunks = (await this.#start(input, hasMemory))[Symbol.asyncIterator]();
      const envelopes = new ChunkEnvelopes(runId);
      let isStepEnd = false;
      let hasFinished = false;
      for (;;) {
        this.#modelGate.startReading();
        const next = isStepEnd ? await this.#nextOrStep(chunks) : await chunks.next();
        if (next.done) break;
        this.#modelGate.stopReading();
        const chunk = next.value;
        isStepEnd = STEP_ENDS.includes(chunk.type);
        hasFinished ||= chunk.type === 'finish';
        const envelope = envelopes.of(chunk);
        if (!envelope) continue;
        hasBegun = true;
        this.#record.add(envelope);
        yield envelope;
      }
      if (!hasFinished && !signal.aborted) throw cutModel(new Error('The stream of the agent has no end.'));
    } catch (error) {
      if (signal.aborted) return;
      throw mastraFailure(error, hasBegun);
    } finally {
      this.#stopping.abort();
      this.#gate.open();
      this.#modelGate.open();
    }
  }

  async #start(input: PromptMessage[], hasMemory: boolean): Promise<AsyncIterable<MastraChunk>> {
    const { owner, session, signal } = this.context;
    const further = (await this.settings.stream?.(this.query, this.context)) ?? {};
    const thread = session && threadOf({ owner, id: session.id });
    const { fullStream } = await this.agent.stream(
      input as never,
      {
        ...further,
        prepareStep: this.#prepareStep(further['prepareStep'] as PrepareStep | undefined),
        abortSignal: AbortSignal.any([signal, this.#stopping.signal]),
        ...(hasMemory && { memory: { thread, resource: owner } }),
      } as never,
    );
    return fullStream;
  }

  /** The framework asks for it before each step, and waits. */
  #prepareStep(further: PrepareStep | undefined): PrepareStep {
    return async (step) => {
      await this.#gate.pass();
      const changes = (await further?.(step)) as { model?: object } | undefined;
      const model = changes?.model ?? step.model;
      return { ...changes, ...(isModel(model) && { model: gatedModel(model, this.#modelGate) }) };
    };
  }

  /** The next chunk; before it, a checkpoint if the framework is about to begin another step. */
  async #nextOrStep(chunks: AsyncIterator<MastraChunk>): Promise<IteratorResult<MastraChunk>> {
    const next = chunks.next();
    if (await this.#gate.isReachedBefore(next)) {
      if (this.settings.restarts > 0) await keepSteps(this.context, this.#record.kept);
      this.#gate.release();
    }
    return next;
  }
}

/** Whether the framework has found the model. It may have its name only. */
function isModel(model: unknown): model is object {
  return typeof (model as { doStream?: unknown } | undefined)?.doStream === 'function';
}
