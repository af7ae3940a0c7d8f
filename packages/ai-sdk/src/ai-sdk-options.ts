import type { ModelMessage, streamText, SystemModelMessage, ToolSet } from 'ai';
import type { Query, QueryContext } from 'nest-agent-query';
import { type AdapterOptions, adapterSettings, type AdapterSettings } from 'nest-agent-query-adapters';

/** What the handler reads of a step that has ended. */
export interface FinishedStep {
  stepNumber: number;
  response: { messages: ModelMessage[] };
  finishReason?: string;
}

/** What an agent of the AI SDK has that the handler uses: `ToolLoopAgent`, or any other object with this method. */
export interface AiSdkAgent {
  /** Without them, no call is left to the caller, and no approval changes arguments. */
  readonly tools?: ToolSet;
  stream(options: {
    messages: ModelMessage[];
    abortSignal: AbortSignal;
    onStepFinish: (step: FinishedStep) => Promise<void>;
  }): PromiseLike<{ fullStream: AsyncIterable<{ type: string }>; output?: PromiseLike<unknown> }>;
}

/** The options of `streamText`, without those that the handler sets. `stopWhen` is by default 20 steps. */
export type AiSdkOptions = Omit<
  Parameters<typeof streamText>[0],
  'prompt' | 'messages' | 'abortSignal' | 'system'
> & {
  /** What the model is told before the conversation. */
  instructions?: string | SystemModelMessage | SystemModelMessage[];
  /** The same under the name that `streamText` has for it. */
  system?: string | SystemModelMessage | SystemModelMessage[];
};

/** An agent, or the options of one. */
export type AiSdkSource = AiSdkAgent | AiSdkOptions;

/**
 * A function that chooses the agent for a query.
 *
 * @typeParam K the class that the option `kwargs` of the module names. Default: an object with any keys
 */
export type AiSdkChoice<K extends object = Record<string, unknown>> = (
  query: Query<K>,
  context: QueryContext,
) => AiSdkSource | Promise<AiSdkSource>;

/** How the handler translates queries and their history. */
export type AiSdkAdapterOptions = AdapterOptions;

/** The options with their defaults. */
export interface AiSdkSettings extends AdapterSettings {
  /** Whether the model gets its reasoning of earlier turns again, with the calls of tools that it has led to. */
  showsReasoning?: boolean;
}

/** @throws {RangeError} a number is out of its range · {TypeError} `agent` is neither an agent nor options */
export function aiSdkSettings<K extends object>(
  agent: AiSdkSource | AiSdkChoice<K>,
  options: AiSdkAdapterOptions,
): AiSdkSettings {
  if (typeof agent !== 'function') checkSource(agent);
  return adapterSettings(options, {}, {});
}

/** @throws {TypeError} it is neither an agent nor options */
export function checkSource(source: AiSdkSource): void {
  if (isAgent(source) || (source as Partial<AiSdkOptions> | null | undefined)?.model) return;
  throw new TypeError('fromAiSdk needs an agent with a method "stream", or options with a "model".');
}

/** Whether the agent gives a structured output. `ToolLoopAgent` has its options as `settings`. */
export function hasOutput(source: AiSdkSource): boolean {
  const { output } = isAgent(source) ? ((source as { settings?: AiSdkOptions }).settings ?? {}) : source;
  return output !== undefined && output.name !== 'text';
}

export function isAgent(source: AiSdkSource): source is AiSdkAgent {
  return typeof (source as Partial<AiSdkAgent> | null | undefined)?.stream === 'function';
}
