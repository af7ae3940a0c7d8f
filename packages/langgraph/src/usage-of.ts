import type { UsageMetadata } from '@langchain/core/messages';
import type { UsageEnvelope } from 'nest-agent-query';
import { modelUsage } from 'nest-agent-query-adapters';

/** What a message says about its cost. */
export interface MeteredMessage {
  usage_metadata?: UsageMetadata | undefined;
  response_metadata?: Record<string, unknown> | undefined;
}

/**
 * What a call of a model has used, if the model says so.
 *
 * @param model the name with which the model was called, for an answer that has none
 */
export function usageOf(message: MeteredMessage, model?: unknown): UsageEnvelope | undefined {
  const { usage_metadata: used, response_metadata: response } = message;
  if (!used) return undefined;
  const names = [response?.['model_name'], response?.['model'], model];
  return modelUsage({
    inputTokens: used.input_tokens,
    outputTokens: used.output_tokens,
    reasoningTokens: used.output_token_details?.reasoning,
    cachedInputTokens: used.input_token_details?.cache_read,
    model: names.find((name) => typeof name === 'string' && name !== ''),
  });
}
