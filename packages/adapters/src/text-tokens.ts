import { Buffer } from 'node:buffer';

/** Bytes of UTF-8 per token. English has four, other languages and program texts have fewer. */
const BYTES_PER_TOKEN = 3;

/**
 * Estimates how many tokens a text has. No two models count in the same way, and the tables of one are larger than this package:
 * the estimate is rather too high.
 *
 * @example
 * estimateTextTokens('Hello there'); // 4
 */
export function estimateTextTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}
