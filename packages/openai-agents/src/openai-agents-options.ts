import type { Agent, AgentOutputType, Runner, Session } from '@openai/agents';
import type { Query, QueryContext, SessionRef } from 'nest-agent-query';
import { type AdapterOptions, adapterSettings, type AdapterSettings } from 'nest-agent-query-adapters';

/** Names the memory of a session. */
export interface MemoryRef extends SessionRef {
  /** 64 hexadecimal digits. No two sessions have the same, whatever their ids and owners are. */
  key: string;
}

/** A call of a tool that needs an approval. */
export interface ToolApproval {
  /** The id of the call, as in its `tool_call`. */
  id: string;
  /** The name of the tool. */
  name: string;
  /** The arguments of the call. */
  arguments: unknown;
  /** The name of the agent that calls the tool. */
  agent: string;
}

/**
 * A function that chooses the agent for a query. Agents of the same name must be the same ones.
 *
 * @typeParam K the class that the option `kwargs` of the module names. Default: an object with any keys
 */
export type AgentChoice<
  K extends object = Record<string, unknown>,
  // An agent of one context or output is no agent of `unknown` ones.
  /* eslint-disable @typescript-eslint/no-explicit-any */
  TContext = any,
  TOutput extends AgentOutputType = any,
  /* eslint-enable @typescript-eslint/no-explicit-any */
> = (query: Query<K>, context: QueryContext) => Agent<TContext, TOutput> | Promise<Agent<TContext, TOutput>>;

/**
 * How an agent answers queries.
 *
 * @typeParam K the class that the option `kwargs` of the module names. Default: an object with any keys
 * @typeParam TContext the context of tools and guardrails. Default: unknown
 */
export interface OpenAIAgentsOptions<
  K extends object = Record<string, unknown>,
  TContext = unknown,
> extends AdapterOptions {
  /** Runs the agent: it has the provider of models, guardrails and traces. Default: a runner without settings. */
  runner?: Runner;
  /** Makes the context that tools and guardrails get, for example of `context.owner`. Default: none. */
  context?: (query: Query<K>, context: QueryContext) => TContext | Promise<TContext>;
  /**
   * The memory of a session, for example a session of the framework that is kept under `key`. It is cleared when the session is
   * erased. Default: none; the agent then gets the earlier turns of the service.
   */
  session?: (memory: MemoryRef) => Session | Promise<Session>;
  /**
   * Says whether a tool that needs an approval may be called; undefined: the run asks a person. Default: it always asks.
   *
   * @param context its signal is aborted when the run must stop
   */
  approve?: (call: ToolApproval, context: QueryContext) => boolean | undefined | Promise<boolean | undefined>;
  /** How often models are called for one query, from 1; null for any number. Default: 10, that of the framework. */
  maxTurns?: number | null;
}

/** The options with their defaults. */
export type OpenAIAgentsSettings<K extends object> = OpenAIAgentsOptions<K> & AdapterSettings;

/** @throws {RangeError} a number is out of its range */
export function openAIAgentsSettings<K extends object>(
  options: OpenAIAgentsOptions<K>,
): OpenAIAgentsSettings<K> {
  const own = { runner: true, context: true, session: true, approve: true, maxTurns: true } as const;
  return adapterSettings<OpenAIAgentsOptions<K>>(options, { inputs: ['image', 'pdf'] }, own);
}
