import type { LLMResult } from '@langchain/core/outputs';
import type { UsageEnvelope } from 'nest-agent-query';
import { ModelGate } from 'nest-agent-query-adapters';
import { tasksOf } from './graph-events.js';
import { type MeteredMessage, usageOf } from './usage-of.js';

type Metadata = Record<string, unknown> | undefined;

/**
 * Watches the models and tools of one execution of a graph, those of subgraphs and tools too. It is a callback handler of
 * LangChain, for which models and tools wait.
 */
export class ModelWatch {
  readonly name = 'nest-agent-query';
  readonly awaitHandlers = true;
  /** Holds models back that are too far ahead of the reader. */
  readonly gate = new ModelGate();

  /** What is executed: the ids of models and tools, each tool with its task. */
  readonly #active = new Map<string, string | undefined>();
  /** The names of the models that are executed. */
  readonly #models = new Map<string, unknown>();
  /** The models that have said something. */
  readonly #begun = new Set<string>();
  readonly #failures = new WeakMap<object, { hasBegun: boolean }>();
  #used: UsageEnvelope[] = [];
  #settled: (() => void) | undefined;

  /** @param signal ends every wait */
  constructor(signal: AbortSignal) {
    signal.addEventListener('abort', () => this.gate.open(), { once: true });
  }

  /** What models have used since the last call. */
  takeUsed(): UsageEnvelope[] {
    const used = this.#used;
    if (used.length > 0) this.#used = [];
    return used;
  }

  /** Whether a tool is executed in a task. What a model says there is said to the tool. */
  isInTool(task: string): boolean {
    if (this.#active.size === this.#models.size) return false;
    for (const taskOfTool of this.#active.values()) if (taskOfTool === task) return true;
    return false;
  }

  /** Whether a model that has failed with this error had said something; undefined if no model has failed with it. */
  failure(error: unknown): { hasBegun: boolean } | undefined {
    return typeof error === 'object' && error !== null ? this.#failures.get(error) : undefined;
  }

  /** Waits until no model and no tool is executed. */
  async settled(): Promise<void> {
    if (this.#active.size > 0) await new Promise<void>((resolve) => (this.#settled = resolve));
  }

  handleChatModelStart(
    _model: unknown,
    _messages: unknown,
    runId: string,
    _parentRunId?: string,
    _extra?: unknown,
    _tags?: string[],
    metadata?: Metadata,
  ): void {
    this.#active.set(runId, undefined);
    this.#models.set(runId, metadata?.['ls_model_name']);
  }

  async handleLLMNewToken(_token: string, _index: unknown, runId: string): Promise<void> {
    this.#begun.add(runId);
    await this.gate.pass();
  }

  handleLLMEnd(output: LLMResult, runId: string): void {
    const [generation] = output.generations[0] ?? [];
    const { message } = (generation ?? {}) as { message?: MeteredMessage };
    const used = message && usageOf(message, this.#models.get(runId));
    if (used) this.#used.push(used);
    this.#end(runId);
  }

  handleLLMError(error: unknown, runId: string): void {
    const hasBegun = this.#begun.has(runId);
    if (typeof error === 'object' && error !== null) this.#failures.set(error, { hasBegun });
    this.#end(runId);
  }

  handleToolStart(
    _tool: unknown,
    _input: string,
    runId: string,
    _parentRunId?: string,
    _tags?: string[],
    metadata?: Metadata,
  ): void {
    this.#active.set(runId, tasksOf(metadata).at(-1) ?? '');
  }

  handleToolEnd(_output: unknown, runId: string): void {
    this.#end(runId);
  }

  handleToolError(_error: unknown, runId: string): void {
    this.#end(runId);
  }

  #end(runId: string): void {
    this.#models.delete(runId);
    this.#begun.delete(runId);
    this.#active.delete(runId);
    if (this.#active.size === 0) this.#settled?.();
  }
}
