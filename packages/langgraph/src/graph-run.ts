import { Logger } from '@nestjs/common';
import { type Envelope, type Query, type QueryContext } from 'nest-agent-query';
import { HandedOver } from 'nest-agent-query/agents';
import { threadOf, toolFailure } from 'nest-agent-query-adapters';
import { AnswerReader, isChunk, messagesIn } from './answer-reader.js';
import { isGiven } from './conversation.js';
import { langGraphFailure, threadLost } from './failures.js';
import { configOf } from './graph-config.js';
import { eventOf, isEnvelope, isOfSubgraph, type TaskEvent } from './graph-events.js';
import { inputOf } from './graph-input.js';
import { type CompiledGraph, hasMemory, type LangGraphSettings } from './graph-options.js';
import { ModelWatch } from './model-watch.js';
import { Questions } from './questions.js';
import { Thread, type ThreadState } from './thread.js';
import { usageOf } from './usage-of.js';

/** Where an attempt of a run has come in the thread of its graph: the state of its checkpoints. */
interface Position {
  /** The checkpoint before the run; null for a new thread. */
  before: string | null;
  /** The checkpoint of the last step whose envelopes were passed on; absent before the first. */
  at?: string;
  /** Present if that was the last step of the graph. */
  isDone?: true;
}

/** An attempt of one run: executes the graph, or continues what an earlier attempt has begun. */
export class GraphRun<K extends object> {
  static readonly #logger = new Logger('LangGraph');

  readonly #abort = new AbortController();
  readonly #signal: AbortSignal;
  readonly #watch: ModelWatch;
  readonly #reader: AnswerReader;
  readonly #questions: Questions;
  readonly #threadId: string;
  /** Undefined if the graph has no memory. */
  readonly #thread: Thread | undefined;
  #position: Position = { before: null };
  /** Whether this attempt continues what an earlier one has begun. */
  #continues = false;
  #hasBegunTask = false;
  #hasStep = false;
  /** Whether the graph itself has ended or failed. */
  #hasEnded = false;
  /** Whether another process may have the run now. */
  #isLost = false;

  constructor(
    private readonly graph: CompiledGraph,
    private readonly query: Query<K>,
    private readonly context: QueryContext,
    private readonly settings: LangGraphSettings<K>,
  ) {
    const { owner, session, runId, signal } = context;
    this.#signal = AbortSignal.any([signal, this.#abort.signal]);
    this.#watch = new ModelWatch(this.#signal);
    this.#threadId = session ? threadOf({ owner, id: session.id }) : runId;
    this.#thread = hasMemory(graph) ? new Thread(graph, this.#threadId) : undefined;
    this.#questions = new Questions(session !== undefined);
    this.#reader = new AnswerReader({
      nodes: settings.textNodes && new Set(settings.textNodes),
      isInTool: (task) => this.#watch.isInTool(task),
      toolFailed: (name, error) => toolFailure(runId, name, error),
    });
  }

  /** What the graph says and does. Nothing of it is executed any more when this has ended. */
  async *envelopes(): AsyncGenerator<Envelope> {
    const { signal } = this.context;
    let events: AsyncIterator<unknown> | undefined;
    try {
      const begin = await this.#begin();
      yield* this.#reader.take();
      if (!begin) return;
      events = await this.#execute(begin.input);
      for (let item = await this.#next(events); item !== undefined; item = await this.#next(events)) {
        this.#read(item);
        for (const envelope of this.#reader.take()) yield envelope;
        if (this.#hasStep) await this.#store(item);
      }
    } catch (error) {
      if (signal.aborted) return;
      yield* this.#watch.takeUsed();
      throw langGraphFailure(error, (one) => this.#watch.failure(one));
    } finally {
      this.#abort.abort();
      await this.#stop(events);
    }
  }

  /**
   * Finds out what the graph is to do.
   *
   * @returns its input, which is null if it continues; undefined if it has ended
   */
  async #begin(): Promise<{ input: unknown } | undefined> {
    const { query, context, settings } = this;
    const saved = context.resumed?.state as Position | undefined;
    if (saved?.isDone) return undefined;
    const state = await this.#thread?.state();
    if (saved && state && state.checkpoint !== saved.before) return this.#continue(state, saved);
    if (saved?.at !== undefined) throw threadLost();
    const { input, notes = [] } = await inputOf(query, context, state, settings);
    for (const note of notes) this.#reader.add(note);
    this.#position = { before: state?.checkpoint ?? null };
    if (this.#storesSteps) await this.#checkpoint();
    return { input };
  }

  /**
   * Shows what the graph has done after the last checkpoint of the run: these steps are done, but their envelopes are void.
   *
   * @throws {QueryError} `interrupted`: the checkpointer does not keep what it was done after
   */
  async #continue(state: ThreadState, saved: Position): Promise<{ input: unknown } | undefined> {
    this.#position = saved;
    this.#continues = true;
    const at = saved.at ?? saved.before;
    const shown = at === null ? [] : await this.#thread!.messages(at);
    if (!shown) throw threadLost();
    this.#reader.skip(shown);
    for (const message of state.messages) {
      if (isGiven(message.id, this.context) || !this.#reader.complete(message)) continue;
      const used = usageOf(message);
      if (used) this.#reader.add(used);
    }
    return state.isOpen ? { input: null } : undefined;
  }

  get #storesSteps(): boolean {
    return this.settings.restarts > 0 && this.#thread !== undefined;
  }

  async #execute(input: unknown): Promise<AsyncIterator<unknown>> {
    const config = configOf(this.settings, this.query, this.context, {
      thread: this.#threadId,
      signal: this.#signal,
      watch: this.#watch,
      tellsSteps: this.#storesSteps,
    });
    const stream = await this.graph.stream(input, config);
    return stream[Symbol.asyncIterator]();
  }

  /** The next item of the stream; undefined at its end. */
  async #next(events: AsyncIterator<unknown>): Promise<unknown> {
    this.#watch.gate.startReading();
    try {
      const step = await events.next();
      if (step.done !== true) return step.value;
      this.#hasEnded = true;
      return undefined;
    } catch (error) {
      this.#hasEnded = !this.#signal.aborted;
      throw error;
    } finally {
      this.#watch.gate.stopReading();
    }
  }

  #read(item: unknown): void {
    const [mode, payload] = eventOf(item);
    if (mode === 'messages') {
      const [message, metadata] = payload;
      // Whole messages come with the results of the nodes.
      if (isChunk(message)) this.#reader.chunk(message, metadata);
      return;
    }
    if (mode === 'custom' && isEnvelope(payload)) this.#reader.add(payload);
    if (mode === 'tasks') this.#readTask(payload);
    if (mode === 'updates') this.#readUpdate(payload);
    for (const used of this.#watch.takeUsed()) this.#reader.add(used);
  }

  #readTask(task: TaskEvent): void {
    if ('input' in task) {
      this.#hasBegunTask = true;
      this.#reader.skip(messagesIn(task.input));
    }
    if (!('result' in task)) return;
    this.#hasStep = true;
    this.#reader.ended(task);
  }

  #readUpdate(update: Record<string, unknown>): void {
    for (const question of this.#questions.in(update)) this.#reader.add(question);
    const { __metadata__: metadata, ...nodes } = update;
    // What a node has returned before: it is not executed.
    if ((metadata as { cached?: boolean } | undefined)?.cached !== true) return;
    // Before the first task it is of a step that an earlier execution has begun. An earlier run has shown it.
    if (!this.#hasBegunTask && !this.#continues) return;
    for (const [node, result] of Object.entries(nodes))
      for (const message of messagesIn(result)) this.#reader.complete(message, node);
  }

  /** Stores where the graph is, when it has done something. */
  async #store(item: unknown): Promise<void> {
    const [mode, payload] = eventOf(item);
    if (mode !== 'checkpoints' || isOfSubgraph(item)) return;
    const at = payload.config.configurable?.checkpoint_id;
    // LangGraph before 1.7 goes on before its checkpoint is kept: then the next one is stored.
    if (at === undefined || !(await this.#thread!.has(at))) return;
    this.#hasStep = false;
    this.#position = {
      before: this.#position.before,
      at,
      ...(payload.next.length === 0 && { isDone: true }),
    };
    await this.#checkpoint();
  }

  async #checkpoint(): Promise<void> {
    try {
      await this.context.checkpoint(this.#position);
    } catch (error) {
      this.#isLost = true;
      throw error;
    }
  }

  /** Ends what is still executed. */
  async #stop(events: AsyncIterator<unknown> | undefined): Promise<void> {
    const { session, signal, runId } = this.context;
    if (!this.#hasEnded && events) {
      await readToEnd(events);
      await this.#watch.settled();
    }
    // The next attempt needs the thread.
    if (session || !this.#thread || this.#isLost || signal.reason instanceof HandedOver) return;
    try {
      await this.#thread.delete();
    } catch (error) {
      GraphRun.#logger.warn(`Run ${runId}: its thread could not be deleted: ${String(error)}`);
    }
  }
}

/** A stream that was aborted ends with an error. */
async function readToEnd(events: AsyncIterator<unknown>): Promise<void> {
  try {
    while ((await events.next()).done !== true);
  } catch {
    // It has ended.
  }
}
