import { Logger } from '@nestjs/common';
import type { AgentInputItem, Session } from '@openai/agents';
import type { QueryContext, SessionRef } from 'nest-agent-query';
import { HandedOver, textForLog } from 'nest-agent-query/agents';
import { threadOf } from 'nest-agent-query-adapters';
import type { MemoryRef, OpenAIAgentsOptions } from './openai-agents-options.js';

/** What the framework does with the newest items at once, where a session can do that. */
type Transaction =
  | { type: 'append_items'; items: AgentInputItem[] }
  | { type: 'replace_suffix'; expectedSuffix: AgentInputItem[]; replacement: AgentInputItem[] };

/** The methods of a session after which nobody knows which items are of the run. */
const REWRITES = ['clearSession', 'replaceHistoryWithCompaction'];

/** Names the memory of a session. */
export function memoryRef({ owner, id }: SessionRef): MemoryRef {
  return { owner, id, key: threadOf({ owner, id }) };
}

/** The memory of the session of a run. It keeps what a run has said only if that is completed. */
export class RunMemory {
  static readonly #logger = new Logger('OpenAIAgents');

  /** What the framework is given. */
  readonly session: Session;
  /** How many items the run has added, with those of its earlier attempts; undefined if nobody knows. */
  added: number | undefined;
  readonly #operations = new Set<string>();

  private constructor(
    private readonly memory: Session,
    private readonly context: QueryContext,
    added: number,
  ) {
    this.added = added;
    this.session = new Proxy(memory, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          const count = this.#countOf(String(name), args[0]);
          // If the run goes on in another attempt, that one writes it.
          if (count !== 0 && this.#isHandedOver) return Promise.resolve();
          this.added = this.added === undefined || count === undefined ? undefined : this.added + count;
          return Reflect.apply(value, target, args) as unknown;
        };
      },
    });
  }

  /**
   * @param added how many items earlier attempts have added
   * @returns undefined if the query names no session
   */
  static async open(
    open: NonNullable<OpenAIAgentsOptions['session']>,
    context: QueryContext,
    added = 0,
  ): Promise<RunMemory | undefined> {
    const { owner, session } = context;
    if (!session) return undefined;
    return new RunMemory(await open(memoryRef({ owner, id: session.id })), context, added);
  }

  /** Whether it has nothing of earlier runs. */
  async isEmpty(): Promise<boolean> {
    const own = this.added ?? 0;
    return (await this.memory.getItems(own + 1)).length <= own;
  }

  /** Takes back what the run has added: the framework writes the question, also where the model has refused it. */
  async takeBack(): Promise<void> {
    if (this.#isHandedOver) return;
    try {
      for (let rest = this.added ?? 0; rest > 0; rest--) await this.memory.popItem();
      this.added = 0;
    } catch (error) {
      const cause = textForLog(String(error));
      RunMemory.#logger.warn(
        `Run ${this.context.runId}: its question could not be removed from the memory: ${cause}`,
      );
    }
  }

  get #isHandedOver(): boolean {
    return this.context.signal.reason instanceof HandedOver;
  }

  /** How many items a call of a method adds; undefined if nobody knows. */
  #countOf(method: string, argument: unknown): number | undefined {
    if (REWRITES.includes(method)) return undefined;
    if (method === 'addItems') return (argument as AgentInputItem[]).length;
    if (method === 'popItem') return -1;
    if (method !== 'applyHistoryTransaction') return 0;
    const { operationId, transaction } = argument as { operationId: string; transaction: Transaction };
    // A session does an operation once, also if it is told so again.
    if (this.#operations.has(operationId)) return 0;
    this.#operations.add(operationId);
    if (transaction.type === 'append_items') return transaction.items.length;
    return transaction.replacement.length - transaction.expectedSuffix.length;
  }
}
