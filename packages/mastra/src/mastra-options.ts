import type { Query, QueryContext } from 'nest-agent-query';
import { type AdapterOptions, adapterSettings, type AdapterSettings } from 'nest-agent-query-adapters';
import type { MastraChunk } from './chunk-envelopes.js';

/** The memory of an agent, as far as the handler uses it. */
export interface MastraMemory {
  getThreadById(options: { threadId: string }): Promise<unknown>;
  deleteThread(threadId: string): Promise<void>;
}

/** What an agent says and does, until it has ended or waits for a person. */
export interface MastraStream {
  /** Names the execution in the storage of the framework. */
  runId: string;
  fullStream: AsyncIterable<MastraChunk>;
}

/** An agent of Mastra, as far as the handler uses it: the same in all versions from 0.24 on. */
export interface MastraAgent {
  stream(messages: never, options: never): Promise<MastraStream>;
  approveToolCall?(options: never): Promise<MastraStream>;
  declineToolCall?(options: never): Promise<MastraStream>;
  resumeStream?(value: unknown, options: never): Promise<MastraStream>;
  getMastraInstance?(): { getStorage?(): unknown } | undefined;
  hasOwnMemory(): boolean;
  getMemory(): Promise<unknown>;
}

/** Options of `agent.stream()`. The handler itself sets `abortSignal` and `memory`. */
export type MastraStreamOptions = Record<string, unknown>;

/**
 * How an agent answers queries.
 *
 * @typeParam K the class that the option `kwargs` of the module names. Default: an object with any keys
 */
export interface MastraOptions<K extends object = Record<string, unknown>> extends AdapterOptions {
  /** Makes further options of `agent.stream()`, for example `maxSteps` or a context of the request. Default: none. */
  stream?: (query: Query<K>, context: QueryContext) => MastraStreamOptions | Promise<MastraStreamOptions>;
}

/** The options with their defaults. */
export type MastraSettings<K extends object> = MastraOptions<K> & AdapterSettings;

/** @throws {TypeError} `agent` is none · {RangeError} a number is out of its range */
export function mastraSettings<K extends object>(
  agent: MastraAgent,
  options: MastraOptions<K>,
): MastraSettings<K> {
  if (typeof agent?.stream !== 'function' || typeof agent.hasOwnMemory !== 'function')
    throw new TypeError('fromMastra needs an agent of @mastra/core, with the method "stream".');
  return adapterSettings<MastraOptions<K>>(options, {}, { stream: true });
}
