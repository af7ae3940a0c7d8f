import type { ModelMessage } from 'ai';
import { estimateTextTokens } from 'nest-agent-query/adapters';

/** What models count for the frame of a message. */
const MESSAGE_TOKENS = 4;

/** What models count for an image or a page, at most in most of them. */
const IMAGE_TOKENS = 1_500;
const BYTES_PER_TOKEN_OF_FILE = 64;

/** Estimates how many tokens messages have. */
export function estimateTokens(messages: ModelMessage[]): number {
  return messages.reduce((sum, { content }) => sum + MESSAGE_TOKENS + tokensOfContent(content), 0);
}

function tokensOfContent(content: ModelMessage['content']): number {
  if (typeof content === 'string') return estimateTextTokens(content);
  return content.reduce((sum, part) => sum + tokensOfPart(part), 0);
}

function tokensOfPart(part: Exclude<ModelMessage['content'], string>[number]): number {
  if (part.type === 'text' || part.type === 'reasoning') return estimateTextTokens(part.text);
  if (part.type !== 'file') return estimateTextTokens(JSON.stringify(part));
  if (part.mediaType.startsWith('image/')) return IMAGE_TOKENS;
  return Math.max(IMAGE_TOKENS, Math.ceil((part.data as Uint8Array).byteLength / BYTES_PER_TOKEN_OF_FILE));
}
