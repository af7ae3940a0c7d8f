import { usage, type UsageEnvelope } from 'nest-agent-query';

const COUNTS = ['inputTokens', 'outputTokens', 'reasoningTokens', 'cachedInputTokens'] as const;

/** What a model says about its use, of any types: endpoints send what they like. */
export type ModelCounts = Partial<Record<(typeof COUNTS)[number] | 'model', unknown>>;

/**
 * The envelope of what one call of a model has used. What is no number of tokens, or no name, is left out.
 *
 * @returns undefined if the model does not say what it has used
 *
 * @example
 * const used = modelUsage({ inputTokens: 120, outputTokens: 48, reasoningTokens: undefined, model: 'my-model' });
 * if (used) yield used;
 */
export function modelUsage(counts: ModelCounts): UsageEnvelope | undefined {
  const valid = COUNTS.map((name) => [name, counts[name]] as const).filter(([, value]) => isCount(value));
  const used: UsageEnvelope['data'] = { inputTokens: 0, outputTokens: 0, ...Object.fromEntries(valid) };
  if (used.inputTokens === 0 && used.outputTokens === 0) return undefined;
  const { model } = counts;
  return usage(typeof model === 'string' && model !== '' ? { ...used, model } : used);
}

function isCount(value: unknown): boolean {
  return Number.isFinite(value) && (value as number) >= 0;
}
