import type { Envelope } from 'nest-agent-query';
import { modelUsage } from 'nest-agent-query-adapters';
import { itemsOf, membersOf } from './members.js';

const MODELS = 20;

/**
 * What a turn has used, as the answer of the prompt says it. Agents have four places for it: here are `usage`, `_meta.quota` and
 * `_meta.usage` of the answer, and the first one that is there counts.
 */
export function usageOfResponse(response: unknown): Envelope[] {
  const { usage, _meta: meta } = membersOf(response);
  const { quota, usage: own } = membersOf(meta);
  const places = [usageOf(usage), usageOfQuota(quota), usageOf(own)];
  return places.find((envelopes) => envelopes.length > 0) ?? [];
}

/** What a chunk of the answer says in `_meta.usage`, the fourth place. */
export function usageOfChunk(meta: unknown): Envelope[] {
  return usageOf(membersOf(meta)['usage']);
}

function usageOfQuota(quota: unknown): Envelope[] {
  const { model_usage: models, token_count: all } = membersOf(quota);
  const ofModels = itemsOf(models, MODELS).flatMap((item) => {
    const { model, token_count: counts } = membersOf(item);
    return usageOf({ ...membersOf(counts), model });
  });
  return ofModels.length > 0 ? ofModels : usageOf(all);
}

function usageOf(counts: unknown): Envelope[] {
  const told = membersOf(counts);
  const used = modelUsage({
    inputTokens: told['inputTokens'] ?? told['input_tokens'],
    outputTokens: told['outputTokens'] ?? told['output_tokens'],
    reasoningTokens: told['thoughtTokens'] ?? told['thought_tokens'] ?? undefined,
    cachedInputTokens: told['cachedReadTokens'] ?? told['cache_read_input_tokens'] ?? undefined,
    model: told['model'],
  });
  return used ? [used] : [];
}
