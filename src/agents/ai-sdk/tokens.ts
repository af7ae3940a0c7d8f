import { Buffer } from 'node:buffer';
import type { ModelMessage } from 'ai';

/** Bytes of UTF-8 per token. English has four, other languages and program texts have fewer. */
const BYTES_PER_TOKEN = 3;

/** What models count for the frame of a message. */
const MESSAGE_TOKENS = 4;

/** What models count for an image or a page, at most in most of them. */
const IMAGE_TOKENS = 1_500;
const BYTES_PER_TOKEN_OF_FILE = 64;

/**
 * Estimates how many tokens messages have. No two models count in the same way, and the tables of one are larger than this
 * package: the estimate is rather too high.
 */
export function estimateTokens(messages: ModelMessage[]): number {
  return messages.reduce((sum, { content }) => sum + MESSAGE_TOKENS + tokensOfContent(content), 0);
}

/** Estimates how many tokens a text has. */
export function estimateTextTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
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
