import type { UsageMetadata } from '@langchain/core/messages';
import { usage, type UsageEnvelope } from 'nest-agent-query';

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
  const reasoningTokens = used.output_token_details?.reasoning;
  const cachedInputTokens = used.input_token_details?.cache_read;
  const names = [response?.['model_name'], response?.['model'], model];
  const name = names.find((value): value is string => typeof value === 'string' && value !== '');
  return usage({
    inputTokens: used.input_tokens,
    outputTokens: used.output_tokens,
    ...(reasoningTokens !== undefined && { reasoningTokens }),
    ...(cachedInputTokens !== undefined && { cachedInputTokens }),
    ...(name !== undefined && { model: name }),
  });
}
