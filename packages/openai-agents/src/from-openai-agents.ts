import type { Agent, AgentOutputType } from '@openai/agents';
import {
  AgentHandler,
  type Envelope,
  type Query,
  type QueryContext,
  type SessionRef,
} from 'nest-agent-query';
import { distinctCalls } from 'nest-agent-query-adapters';
import { AgentRun } from './agent-run.js';
import { type AnyAgent, Frameworks } from './framework.js';
import { memoryRef } from './memory.js';
import {
  type AgentChoice,
  type OpenAIAgentsOptions,
  type OpenAIAgentsSettings,
  openAIAgentsSettings,
} from './openai-agents-options.js';

type AnyChoice<K extends object> = AgentChoice<K, unknown, AgentOutputType>;

/**
 * Makes a handler of an agent of OpenAI Agents.
 *
 * The agent gets the texts and files of the query and, without the option `session`, the earlier turns of the service with their
 * tool calls and files. What it streams becomes envelopes. After each step there is a checkpoint, from which the run continues
 * if its process is lost. When the run must stop, the request to the model is aborted.
 *
 * @typeParam K the class that the option `kwargs` of the module names. Default: an object with any keys
 * @param agent with its tools, handoffs and guardrails; or a function that chooses it for a query. Each query begins with it
 * @param options its memory, approvals and limits
 * @throws {RangeError} a number is out of its range
 *
 * @example
 * const agent = new Agent({ name: 'Weather', instructions: 'Answer shortly.', tools: [weather] });
 * QueryModule.forRoot({ handler: fromOpenAIAgents(agent) });
 */
export function fromOpenAIAgents<
  K extends object = Record<string, unknown>,
  // An agent of one context or output is no agent of `unknown` ones.
  /* eslint-disable @typescript-eslint/no-explicit-any */
  TContext = any,
  TOutput extends AgentOutputType = any,
  /* eslint-enable @typescript-eslint/no-explicit-any */
>(
  agent: Agent<TContext, TOutput> | AgentChoice<K, TContext, TOutput>,
  options: OpenAIAgentsOptions<K, TContext> = {},
): AgentHandler<K> {
  return new OpenAIAgentsHandler(agent as unknown as AnyAgent | AnyChoice<K>, openAIAgentsSettings(options));
}

class OpenAIAgentsHandler<K extends object> extends AgentHandler<K> {
  override readonly restarts: number;
  readonly #frameworks: Frameworks;

  constructor(
    private readonly agent: AnyAgent | AnyChoice<K>,
    private readonly settings: OpenAIAgentsSettings<K>,
  ) {
    super();
    this.restarts = settings.restarts;
    this.#frameworks = new Frameworks(settings.runner);
  }

  override async handle(query: Query<K>, context: QueryContext): Promise<AsyncIterable<Envelope>> {
    const agent = typeof this.agent === 'function' ? await this.agent(query, context) : this.agent;
    const { framework, runner } = await this.#frameworks.of(agent);
    const parts = { agent, framework, runner, settings: this.settings };
    return distinctCalls(context, (run) => new AgentRun(parts, query, run).envelopes());
  }

  override async sessionErased(session: SessionRef): Promise<void> {
    const memory = await this.settings.session?.(memoryRef(session));
    await memory?.clearSession();
  }
}
