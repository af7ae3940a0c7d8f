import { apiKeysOf } from '../access/keys/api-key.js';
import { linesOf } from './lists.js';

/* What is wrong with texts that must not be shown: the rest of a sentence that begins with the name of the variable. */

/** RFC 7518 §3.2: a secret must be at least as long as the hash, here SHA-256. */
const SECRET_BYTES = 32;

export function faultOfKeys(given: string): string | undefined {
  try {
    apiKeysOf(given);
    return undefined;
  } catch (error) {
    return `is not valid: ${(error as Error).message}`;
  }
}

/** It may contain a password. */
export function faultOfAddress(given: string): string | undefined {
  const { protocol = '', username = '' } = URL.canParse(given) ? new URL(given) : {};
  if (/^https?:$/.test(protocol) && username === '') return undefined;
  return 'must be a URL that begins with https: or http:, without a user.';
}

/** The key is sent in a header. */
export function faultOfKey(given: string): string | undefined {
  return /^[\x21-\x7e]+$/.test(given) ? undefined : 'must consist of visible ASCII characters.';
}

export function faultOfHeaders(given: string): string | undefined {
  const faulty = linesOf(given).findIndex((line) => !/^[\w!#$%&'*+.^`|~-]+:[ \t]*[^ \t]/.test(line));
  return faulty === -1 ? undefined : `is not valid: its line ${faulty + 1} must be "Name: value".`;
}

export function faultOfSecret(given: string): string | undefined {
  const bytes = Buffer.byteLength(given);
  return bytes < SECRET_BYTES ? `has ${bytes} bytes; it must have at least ${SECRET_BYTES}.` : undefined;
}
