import type { ModelMessage, streamText, SystemModelMessage } from 'ai';
import type { Query, QueryContext } from 'nest-agent-query';
import { DEFAULT_INPUTS, type ModelInput, type TextOfFile } from 'nest-agent-query/adapters';

/** What the handler reads of a step that has ended. */
export interface FinishedStep {
  stepNumber: number;
  response: { messages: ModelMessage[] };
}

/** What an agent of the AI SDK has that the handler uses: `ToolLoopAgent`, or any other object with this method. */
export interface AiSdkAgent {
  stream(options: {
    messages: ModelMessage[];
    abortSignal: AbortSignal;
    onStepFinish: (step: FinishedStep) => Promise<void>;
  }): PromiseLike<{ fullStream: AsyncIterable<{ type: string }> }>;
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

/** A function that chooses the agent for a query. */
export type AiSdkChoice = (query: Query, context: QueryContext) => AiSdkSource | Promise<AiSdkSource>;

/** How the handler translates queries and their history. */
export interface AiSdkAdapterOptions {
  /**
   * The kinds of files that the model takes as they are. Any other file becomes a text. Default: images, PDF documents and
   * sounds.
   */
  inputs?: readonly ModelInput[];
  /** Says what is in a file that the model does not take. Default: the text of a text file; of any other, only what it is. */
  textOfFile?: (part: Parameters<TextOfFile>[0], context: QueryContext) => Promise<string>;
  /**
   * How many tokens the query and its history may have together, by an estimate. The oldest turns are left out beyond that.
   * Default: no limit besides `runs.sessionTurns` of the module.
   */
  contextTokens?: number | undefined;
  /** How often a run may continue after its process was lost or stopped. From 0 to 1,000; default 3. */
  restarts?: number;
}

/** The options with their defaults. */
export interface AiSdkSettings extends Required<Pick<AiSdkAdapterOptions, 'inputs' | 'restarts'>> {
  textOfFile: AiSdkAdapterOptions['textOfFile'];
  contextTokens: number;
}

const RESTARTS = 3;

/** @throws {RangeError} a number is out of its range · {TypeError} `agent` is neither an agent nor options */
export function settingsOf(agent: AiSdkSource | AiSdkChoice, options: AiSdkAdapterOptions): AiSdkSettings {
  if (typeof agent !== 'function') checkSource(agent);
  const { inputs = DEFAULT_INPUTS, textOfFile, contextTokens = Infinity, restarts = RESTARTS } = options;
  if (!(contextTokens > 0))
    throw new RangeError('fromAiSdk: "contextTokens" must be a number greater than 0.');
  return { inputs, textOfFile, contextTokens, restarts };
}

/** @throws {TypeError} it is neither an agent nor options */
export function checkSource(source: AiSdkSource): void {
  if (isAgent(source) || (source as Partial<AiSdkOptions> | null | undefined)?.model) return;
  throw new TypeError('fromAiSdk needs an agent with a method "stream", or options with a "model".');
}

export function isAgent(source: AiSdkSource): source is AiSdkAgent {
  return typeof (source as Partial<AiSdkAgent> | null | undefined)?.stream === 'function';
}
