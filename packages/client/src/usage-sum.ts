import type { UsageEnvelope } from './wire/index.js';

type Usage = UsageEnvelope['data'];

/**
 * Adds what a model has used to what others have.
 *
 * @param sum undefined: nothing was used before
 * @returns a new sum. It has the optional counts that one of both has, and the `model` that was named last
 *
 * @example
 * let sum: UsageEnvelope['data'] | undefined;
 * for (const { type, data } of envelopes) if (type === 'usage') sum = usageSum(sum, data);
 */
export function usageSum(sum: Usage | undefined, { model, ...counts }: Usage): Usage {
  const next: Usage = { inputTokens: 0, outputTokens: 0, ...sum, ...(model && { model }) };
  for (const [name, count] of Object.entries(counts) as [keyof typeof counts, number][])
    next[name] = (next[name] ?? 0) + count;
  return next;
}
