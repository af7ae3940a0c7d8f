import type { Range } from '../query/index.js';

/** The options of the agent `model` that a caller may be allowed to override, by the names of the kwargs. */
export const MODEL_KWARGS = ['model', 'instructions', 'temperature', 'max_output_tokens'] as const;

/** A kwarg that overrides an option. */
export type ModelKwarg = (typeof MODEL_KWARGS)[number];

/** The kinds of files that the model of the agent `model` may take as they are. */
export const MODEL_INPUTS = ['image', 'pdf', 'audio'] as const;

/** One of these kinds. */
export type ModelInputKind = (typeof MODEL_INPUTS)[number];

/** What the numbers of the agent `model` may be. */
export const MODEL_RANGES = {
  maxOutputTokens: [1, 10_000_000],
  contextTokens: [256, 100_000_000],
  maxSteps: [1, 1_000],
  retries: [0, 10],
  silenceMs: [100, 3_600_000],
} as const satisfies Record<string, Range>;

/** What a temperature may be. */
export const TEMPERATURES: Range = [0, 2];

/** The defaults of the numbers that have one. */
export const MODEL_DEFAULTS = { maxSteps: 20, retries: 2, silenceMs: 300_000 };
