import { Logger } from '@nestjs/common';
import { type Envelope, type Query, type QueryContext, result } from 'nest-agent-query';
import { HandedOver, textForLog } from 'nest-agent-query/agents';
import { threadOf, toolFailure } from 'nest-agent-query-adapters';
import { AnswerReader, isChunk, markOf, messagesIn } from './answer-reader.js';
import { isGiven, isOfRun, turnsWithFailure } from './conversation.js';
import { langGraphFailure, threadLost } from './failures.js';
import { configOf } from './graph-config.js';
import { eventOf, isEnvelope, isOfSubgraph, structuredIn, type TaskEvent } from './graph-events.js';
import { inputOf } from './graph-input.js';
import { type CompiledGraph, hasMemory, type LangGraphSettings } from './graph-options.js';
import { GraphStream } from './graph-stream.js';
import { ModelWatch } from './model-watch.js';
import { answered, stopsAtNodes } from './pause.js';
import type { Position } from './position.js';
import { Thread, type ThreadState } from './thread.js';
import { usageOf } from './usage-of.js';

/** What is to be done with the graph: it executes, or people are asked what it needs to know before. */
type Next = { input: unknown } | 'ask' | 'end';

/** The name of interrupts among the updates of a graph. */
const INTERRUPT = '__interrupt__';

/** An attempt of one run: executes the graph, or continues what an earlier attempt has begun. */
export class GraphRun<K extends object> {
  static readonly #logger = new Logger('LangGraph');

  readonly #abort = new AbortController();
  readonly #signal: AbortSignal;
  readonly #watch: ModelWatch;
  readonly #reader: AnswerReader;
  readonly #threadId: string;
  /** Undefined if the graph has no memory. */
  readonly #thread: Thread | undefined;
  #position: Position = { before: null };
  /** What the graph gives besides texts: `structuredResponse`, under which prebuilt agents have it. */
  #structured: unknown;
  #hasBegunTask = false;
  #hasStep = false;
  /** Whether the graph has stopped, and goes on with an answer. */
  #hasStopped = false;
  /** Why calls were refused. Their results say so. */
  readonly #refusals = new Set<unknown>();
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
    this.#reader = new AnswerReader({
      nodes: settings.textNodes && new Set(settings.textNodes),
      isInTool: (task) => this.#watch.isInTool(task),
      toolFailed: (name, error) =>
        this.#refusals.has(error) ? (error as string) : toolFailure(runId, name, error),
    });
  }

  /** What the graph says and does. Nothing of it is executed any more when this has ended. */
  async *envelopes(): AsyncGenerator<Envelope> {
    const { signal } = this.context;
    let stream: GraphStream | undefined;
    try {
      let next: Next = await this.#begin();
      for (;;) {
        yield* this.#reader.take();
        if (next === 'ask') next = await this.#ask();
        if (next === 'end') break;
        stream = await this.#execute(next.input);
        for (let item = await stream.next(); item !== undefined; item = await stream.next()) {
          this.#read(item);
          for (const envelope of this.#reader.take()) yield envelope;
          if (this.#hasStep) await this.#store(item);
        }
        next = this.#hasStopped ? 'ask' : 'end';
      }
      if (this.#structured !== undefined) yield result(this.#structured);
    } catch (error) {
      if (signal.aborted) return;
      yield* this.#watch.takeUsed();
      throw langGraphFailure(error, (one) => this.#watch.failure(one));
    } finally {
      this.#abort.abort();
      await stream?.end();
      await this.#forget();
    }
  }

  /** Finds out what the graph is to do. */
  async #begin(): Promise<Next> {
    const { query, context, settings } = this;
    const saved = context.resumed?.state as Position | undefined;
    this.#structured = saved?.structured;
    if (saved?.isDone) return 'end';
    const failed = turnsWithFailure(context.history);
    if (!saved && failed.length > 0)
      await this.#thread?.takeBack((id) => failed.some(({ runId }) => isOfRun(id, runId)));
    const state = await this.#thread?.state();
    if (saved && state && state.checkpoint !== saved.before) return this.#continue(state, saved);
    if (saved?.at !== undefined) throw threadLost();
    const { input, notes } = await inputOf(query, context, state, failed, settings);
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
  async #continue(state: ThreadState, saved: Position): Promise<Next> {
    this.#position = saved;
    const at = saved.at ?? saved.before;
    const shown = at === null ? [] : await this.#thread!.messages(at);
    if (!shown) throw threadLost();
    this.#reader.skip(shown, saved.asks);
    for (const message of [...state.messages, ...state.pending]) {
      if (isGiven(message.id, this.context) || !this.#reader.complete(message)) continue;
      const used = usageOf(message);
      if (used) this.#reader.add(used);
    }
    if (!state.isOpen) return 'end';
    return state.interrupts.length > 0 || this.#stopsAtNodes ? 'ask' : { input: null };
  }

  get #stopsAtNodes(): boolean {
    const { config } = this.settings;
    return stopsAtNodes(this.graph, typeof config === 'function' ? config(this.query, this.context) : config);
  }

  /** Asks what the graph needs to know, in its place in the answer. */
  async #ask(): Promise<{ input: unknown } | 'end'> {
    const state = await this.#thread!.state();
    if (!state) throw threadLost();
    const asks = state.pending.map(markOf);
    this.#position = { ...this.#position, at: state.checkpoint, asks, structured: this.#structured };
    try {
      const next = await answered(state, this.context, this.#position, (reason) =>
        this.#refusals.add(reason),
      );
      return next ?? 'end';
    } catch (error) {
      this.#isLost = !this.context.signal.aborted;
      throw error;
    }
  }

  get #storesSteps(): boolean {
    return this.settings.restarts > 0 && this.#thread !== undefined;
  }

  async #execute(input: unknown): Promise<GraphStream> {
    this.#hasStopped = false;
    this.#hasBegunTask = false;
    this.#hasStep = false;
    const config = configOf(this.settings, this.query, this.context, {
      thread: this.#threadId,
      signal: this.#signal,
      watch: this.#watch,
      tellsSteps: this.#storesSteps,
    });
    const stream = await this.graph.stream(input, config);
    return new GraphStream(stream[Symbol.asyncIterator](), this.#watch, this.#signal);
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
    if (mode === 'updates') {
      if (!isOfSubgraph(item)) this.#structured = structuredIn(payload) ?? this.#structured;
      this.#readUpdate(payload);
    }
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
    const { __metadata__: metadata, [INTERRUPT]: interrupts, ...nodes } = update;
    this.#hasStopped ||= interrupts !== undefined;
    // What a node has returned before: it is not executed.
    if ((metadata as { cached?: boolean } | undefined)?.cached !== true) return;
    // Before the first task it is of a step that an earlier execution has begun, and was shown.
    if (!this.#hasBegunTask) return;
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
      structured: this.#structured,
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

  /** Forgets a run without a session. */
  async #forget(): Promise<void> {
    const { session, signal, runId } = this.context;
    // The next attempt needs the thread.
    if (session || !this.#thread || this.#isLost || signal.reason instanceof HandedOver) return;
    try {
      await this.#thread.delete();
    } catch (error) {
      GraphRun.#logger.warn(`Run ${runId}: its thread could not be deleted: ${textForLog(String(error))}`);
    }
  }
}
