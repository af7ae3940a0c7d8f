import { connectionLost, refusalOf } from './agent-query-error.js';
import type { ByteSource } from './event-reader.js';

/** So much of a refusal is read, in bytes. */
const REFUSAL_BYTES = 64 * 1024;

/** For what is loaded later: see `Refusals`. */
export const refusals = { connectionLost, refusalOf, REFUSAL_BYTES };

/**
 * Reads a text of another server which is for people, such as a refusal, and closes its source.
 *
 * @returns its first 65,536 bytes, or what has come where it is cut before
 *
 * @example
 * if (!response.ok) throw new Error(await beginningOf(response.body.getReader()));
 */
export async function beginningOf(source: ByteSource): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (let left = REFUSAL_BYTES; left > 0;) {
      const { value } = await source.read();
      if (!value) break;
      text += decoder.decode(value.subarray(0, left), { stream: true });
      left -= value.length;
    }
  } catch {
    // What has come is enough.
  }
  source.cancel().catch(() => undefined);
  return text;
}
