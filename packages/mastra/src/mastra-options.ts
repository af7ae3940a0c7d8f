import type { FilePart, Query, QueryContext } from 'nest-agent-query';
import { DEFAULT_INPUTS, type ModelInput } from 'nest-agent-query/adapters';
import type { MastraChunk } from './chunk-envelopes.js';

/** The memory of an agent, as far as the handler uses it. */
export interface MastraMemory {
  getThreadById(options: { threadId: string }): Promise<unknown>;
  deleteThread(threadId: string): Promise<void>;
}

/** An agent of Mastra, as far as the handler uses it: the same in all versions from 0.24 on. */
export interface MastraAgent {
  stream(messages: never, options: never): Promise<{ fullStream: AsyncIterable<MastraChunk> }>;
  hasOwnMemory(): boolean;
  getMemory(): Promise<unknown>;
}

/** Options of `agent.stream()`. The handler itself sets `abortSignal` and `memory`. */
export type MastraStreamOptions = Record<string, unknown>;

/** How an agent answers queries. */
export interface MastraOptions {
  /** Makes further options of `agent.stream()`, for example `maxSteps` or a context of the request. Default: none. */
  stream?: (query: Query, context: QueryContext) => MastraStreamOptions | Promise<MastraStreamOptions>;
  /**
   * The kinds of files that the model takes as they are. Any other file becomes a text. Default: images, PDF documents and
   * sounds.
   */
  inputs?: readonly ModelInput[];
  /** Says what is in a file that the model does not take. Default: the text of a text file; of any other, only what it is. */
  textOfFile?: (part: FilePart, context: QueryContext) => Promise<string>;
  /** How often a run may continue after its process was lost or stopped. From 0 to 1,000; default 3. */
  restarts?: number;
}

/** The options with their defaults. */
export type MastraSettings = Required<Pick<MastraOptions, 'inputs' | 'restarts'>> &
  Pick<MastraOptions, 'stream' | 'textOfFile'>;

const RESTARTS = 3;

/** @throws {TypeError} `agent` is none */
export function settingsOf(agent: MastraAgent, options: MastraOptions): MastraSettings {
  if (typeof agent?.stream !== 'function' || typeof agent.hasOwnMemory !== 'function')
    throw new TypeError('fromMastra needs an agent of @mastra/core, with the method "stream".');
  return { ...options, inputs: options.inputs ?? DEFAULT_INPUTS, restarts: options.restarts ?? RESTARTS };
}
