/** A slow and simple reader of a query's body, to compare the fast one with: all in memory, one library call for each step. */

import { Buffer } from 'node:buffer';
import { TextDecoder } from 'node:util';

const DATA = '[A-Za-z0-9+/]';
const VALID = new RegExp(`^(${DATA}{4})*(${DATA}[AQgw]==|${DATA}{2}[AEIMQUYcgkosw048]=)?$`);
const VALID_BEGINNING = new RegExp(
  `^(${DATA}{4})*(${DATA}{0,3}|${DATA}[AQgw]==?|${DATA}{2}[AEIMQUYcgkosw048]=)$`,
);

/**
 * Finds the first character at which a string is not strict base64.
 *
 * @param {string} text
 * @returns {number | undefined} the offset in UTF-16 code units; undefined if the string is valid
 */
export function faultIn(text) {
  if (VALID.test(text)) return undefined;
  let offset = 0;
  while (offset < text.length && VALID_BEGINNING.test(text.slice(0, offset + 1))) offset++;
  const strayBits = text[offset] === '=' && offset % 4 >= 2 && text[offset - 1] !== '=';
  return strayBits ? offset - 1 : offset;
}

/**
 * Reads a body.
 *
 * @param {Uint8Array} bytes
 * @returns {{ value: unknown } | { error: true }} the parsed body, in which the `base64` of each file part is
 *   `{ content: hex }` or `{ fault: offset }`, and any other part has no `base64`; `error` if it is not JSON
 */
export function readPlainly(bytes) {
  let value;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return { error: true };
  }
  const isObject = (it) => typeof it === 'object' && it !== null && !Array.isArray(it);
  if (!isObject(value) || !Object.hasOwn(value, 'parts') || !Array.isArray(value.parts)) return { value };
  for (const part of value.parts) {
    if (!isObject(part) || !Object.hasOwn(part, 'base64') || typeof part.base64 !== 'string') continue;
    const fault = faultIn(part.base64);
    if (!Object.hasOwn(part, 'type') || part.type !== 'file') delete part.base64;
    else if (fault !== undefined) part.base64 = { fault };
    else part.base64 = { content: Buffer.from(part.base64, 'base64').toString('hex') };
  }
  return { value };
}
