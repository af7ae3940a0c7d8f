import type { FilePart, QueryContext } from 'nest-agent-query';
import type { ModelInput } from './model-parts.js';
import { refuseUnknown } from 'nest-agent-query/agents';

/** What every adapter can be told about the conversation that a model gets. */
export interface AdapterOptions {
  /**
   * The kinds of files that the model takes as they are. Any other file becomes a text. Default: images, PDF documents and
   * sounds; for OpenAI Agents, images and PDF documents.
   */
  inputs?: readonly ModelInput[] | undefined;
  /** Says what is in a file that the model does not take. Default: the text of a text file; of any other, only what it is. */
  textOfFile?: ((part: FilePart, context: QueryContext) => Promise<string>) | undefined;
  /**
   * How many tokens the query and its history may have together, by an estimate. The oldest turns are left out beyond that, and
   * a `log` says so. Default: no limit besides `runs.sessionTurns` of the module. A memory of the framework is not limited by it.
   */
  contextTokens?: number | undefined;
  /** How often a run may continue after its process was lost or stopped. From 0 to 1,000; default 3. */
  restarts?: number | undefined;
}

/** The options of an adapter with their defaults. */
export interface AdapterSettings extends AdapterOptions {
  inputs: readonly ModelInput[];
  contextTokens: number;
  restarts: number;
}

const INPUTS: readonly ModelInput[] = ['image', 'pdf', 'audio'];
const RESTARTS = 3;

const MEMBERS: Record<keyof AdapterOptions, true> = {
  inputs: true,
  textOfFile: true,
  contextTokens: true,
  restarts: true,
};

/**
 * The options of an adapter with their defaults.
 *
 * @param options what the host has given; options of the adapter's own are kept
 * @param defaults where they differ: the kinds of files are images, PDF documents and sounds, and the restarts are 3
 * @param own the names of the adapter's own options: then an option with another name is refused. Default: any is kept
 * @throws {RangeError} `contextTokens` is not greater than 0 · {TypeError} an option is unknown
 *
 * @example
 * const { inputs, contextTokens, restarts } = adapterSettings(options, { inputs: ['image'] });
 */
export function adapterSettings<T extends AdapterOptions>(
  options: T,
  defaults: Pick<AdapterOptions, 'inputs' | 'restarts'> = {},
  own?: Record<Exclude<keyof T, keyof AdapterOptions>, true>,
): T & AdapterSettings {
  if (own) refuseUnknown('The options of the adapter', options, { ...MEMBERS, ...own });
  const { contextTokens = Infinity } = options;
  if (!(contextTokens > 0))
    throw new RangeError('The option "contextTokens" must be a number greater than 0.');
  const inputs = options.inputs ?? defaults.inputs ?? INPUTS;
  return { ...options, inputs, contextTokens, restarts: options.restarts ?? defaults.restarts ?? RESTARTS };
}
