import { AgentHandler, type Envelope, type Query, type QueryContext } from 'nest-agent-query';
import { distinctCalls } from 'nest-agent-query-adapters';
import {
  type AiSdkAdapterOptions,
  type AiSdkChoice,
  type AiSdkSettings,
  type AiSdkSource,
  aiSdkSettings,
} from './ai-sdk-options.js';
import { AiSdkRun } from './ai-sdk-run.js';

class AiSdkHandler<K extends object> extends AgentHandler<K> {
  override readonly restarts: number;

  constructor(
    private readonly agent: AiSdkSource | AiSdkChoice<K>,
    private readonly settings: AiSdkSettings,
  ) {
    super();
    this.restarts = settings.restarts;
  }

  override handle(query: Query<K>, context: QueryContext): AsyncIterable<Envelope> {
    return distinctCalls(context, (run) => new AiSdkRun(this.agent, this.settings, run).envelopes(query));
  }
}

/**
 * Makes a handler of an agent of the AI SDK 6 or 7, or of the options of `streamText`.
 *
 * The agent gets the parts of the query, and the earlier turns of the session with their tool calls and files. What it streams
 * becomes envelopes. After each step there is a checkpoint, from which the run continues if its process is lost. When the run
 * must stop, the request to the model is aborted. Calls that need an approval, and calls of tools without `execute`, are asked: the
 * run goes on with the answers.
 *
 * @typeParam K the class that the option `kwargs` of the module names. Default: an object with any keys
 * @param agent the agent, its options, or a function that chooses them for a query
 * @param options how queries and their history are translated
 * @throws {TypeError} `agent` is neither an agent nor options · {RangeError} a number is out of its range
 *
 * @example
 * QueryModule.forRoot({ handler: fromAiSdk(new ToolLoopAgent({ model, tools: { weather } })) });
 *
 * @example
 * QueryModule.forRoot({
 *   kwargs: AskKwargs,
 *   handler: fromAiSdk<AskKwargs>(({ kwargs }) => ({ model, temperature: kwargs.temperature })),
 * });
 */
export function fromAiSdk<K extends object = Record<string, unknown>>(
  agent: AiSdkSource | AiSdkChoice<K>,
  options: AiSdkAdapterOptions = {},
): AgentHandler<K> {
  return new AiSdkHandler(agent, aiSdkSettings(agent, options));
}
