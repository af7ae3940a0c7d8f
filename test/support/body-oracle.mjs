/** The slow and plain reading of a query's body that the reader is held against: everything in memory, one library call a step. */

import { Buffer } from 'node:buffer';
import { TextDecoder } from 'node:util';

const DATA = '[A-Za-z0-9+/]';
const SOUND = new RegExp(`^(${DATA}{4})*(${DATA}[AQgw]==|${DATA}{2}[AEIMQUYcgkosw048]=)?$`);
const BEGINNING = new RegExp(`^(${DATA}{4})*(${DATA}{0,3}|${DATA}[AQgw]==?|${DATA}{2}[AEIMQUYcgkosw048]=)$`);

/**
 * Where a string stops being strict base64.
 *
 * @param {string} text
 * @returns {number | undefined} the offset, in UTF-16 units; undefined if it is sound
 */
export function faultIn(text) {
  if (SOUND.test(text)) return undefined;
  let offset = 0;
  while (offset < text.length && BEGINNING.test(text.slice(0, offset + 1))) offset++;
  const strayBits = text[offset] === '=' && offset % 4 >= 2 && text[offset - 1] !== '=';
  return strayBits ? offset - 1 : offset;
}

/**
 * @param {Uint8Array} bytes
 * @returns {{ value: unknown } | { error: true }} the parsed body, where the `base64` of each file part is
 *   `{ content: hex }` or `{ fault: offset }` and that of any other part is gone
 */
export function plainly(bytes) {
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
