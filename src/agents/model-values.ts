import type { Range } from '../query/index.js';

/** What a caller of the agent `model` may be allowed to override, or to bring, by the names of the kwargs. */
export const MODEL_KWARGS = ['model', 'instructions', 'temperature', 'max_output_tokens', 'tools'] as const;

/** A kwarg that overrides an option, or brings tools. */
export type ModelKwarg = (typeof MODEL_KWARGS)[number];

/** The kinds of files that the model of the agent `model` may take as they are. */
export const MODEL_INPUTS = ['image', 'pdf', 'audio'] as const;

/** One of these kinds. */
export type ModelInputKind = (typeof MODEL_INPUTS)[number];

/**
 * What a temperature may be.
 *
 * @example
 * const [least, most] = TEMPERATURES;
 */
export const TEMPERATURES: Range = [0, 2];
