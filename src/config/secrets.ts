import { Buffer } from 'node:buffer';
import { apiKeysOf } from '../access/index.js';

/** RFC 7518 §3.2: a secret must be at least as long as the hash, here SHA-256. */
const SECRET_BYTES = 32;

/** What is wrong with a list of API keys. */
export function faultOfKeys(text: string): string | undefined {
  try {
    apiKeysOf(text);
    return undefined;
  } catch (error) {
    return `is not valid: ${(error as Error).message}`;
  }
}

/** What is wrong with the address of a key set; it may contain a password. */
export function faultOfAddress(text: string): string | undefined {
  const { protocol = '', username = '' } = URL.canParse(text) ? new URL(text) : {};
  if (/^https?:$/.test(protocol) && username === '') return undefined;
  return 'must be a URL that begins with https: or http:, without a user.';
}

/** What is wrong with a key that is sent in a header. */
export function faultOfKey(text: string): string | undefined {
  return /^[\x21-\x7e]+$/.test(text) ? undefined : 'must consist of visible ASCII characters.';
}

/** What is wrong with a list of headers. */
export function faultOfHeaders(text: string): string | undefined {
  const faulty = linesOf(text).findIndex((line) => !/^[\w!#$%&'*+.^`|~-]+:[ \t]*[^ \t]/.test(line));
  return faulty === -1 ? undefined : `is not valid: its line ${faulty + 1} must be "Name: value".`;
}

/** The headers of a list, one in each line. */
export function headersOf(text: string): Record<string, string> {
  return Object.fromEntries(
    linesOf(text).map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    }),
  );
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** What is wrong with a secret. */
export function faultOfSecret(text: string): string | undefined {
  const bytes = Buffer.byteLength(text);
  return bytes < SECRET_BYTES ? `has ${bytes} bytes; it must have at least ${SECRET_BYTES}.` : undefined;
}
