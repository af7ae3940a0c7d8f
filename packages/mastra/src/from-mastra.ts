import {
  AgentHandler,
  type Envelope,
  type Query,
  type QueryContext,
  type SessionRef,
} from 'nest-agent-query';
import { distinctCalls, threadOf } from 'nest-agent-query-adapters';
import { type MastraAgent, type MastraMemory, type MastraOptions, mastraSettings } from './mastra-options.js';
import { MastraRun } from './mastra-run.js';

/**
 * Makes a handler of an agent of Mastra.
 *
 * An agent with a memory has it: the owner is the resource, and each session is a thread of its own. Any other agent gets the
 * earlier turns of the session with their tool calls and files. What the agent streams becomes envelopes. After each step there is
 * a checkpoint, from which the run continues if its process is lost. When the run must stop, the request to the model is aborted.
 *
 * @typeParam K the class that the option `kwargs` of the module names. Default: an object with any keys
 * @param agent with its model, tools and memory
 * @param options how queries are translated
 * @throws {TypeError} `agent` is none · {RangeError} a number is out of its range
 *
 * @example
 * const agent = new Agent({ name: 'Weather', instructions: 'Answer shortly.', model, tools: { weather } });
 * QueryModule.forRoot({ handler: fromMastra(agent) });
 */
export function fromMastra<K extends object = Record<string, unknown>>(
  agent: MastraAgent,
  options: MastraOptions<K> = {},
): AgentHandler<K> {
  return new MastraHandler(agent, options);
}

class MastraHandler<K extends object> extends AgentHandler<K> {
  override readonly restarts: number;
  readonly #settings;

  constructor(
    private readonly agent: MastraAgent,
    options: MastraOptions<K>,
  ) {
    super();
    this.#settings = mastraSettings(agent, options);
    this.restarts = this.#settings.restarts;
  }

  override handle(query: Query<K>, context: QueryContext): AsyncIterable<Envelope> {
    return distinctCalls(context, (run) => new MastraRun(this.agent, this.#settings, query, run).envelopes());
  }

  override async sessionErased(session: SessionRef): Promise<void> {
    if (!this.agent.hasOwnMemory()) return;
    const memory = (await this.agent.getMemory()) as MastraMemory;
    const threadId = threadOf(session);
    if (await memory.getThreadById({ threadId })) await memory.deleteThread(threadId);
  }
}
