import { Buffer } from 'node:buffer';
import { isMediaType } from './media-types.js';

/**
 * What is wrong with the name of a file: the rest of a sentence whose subject is the name. Undefined if nothing is.
 *
 * @param name a label of 1 to 255 bytes of UTF-8, never a path
 */
export function faultOfFileName(name: unknown): string | undefined {
  if (typeof name !== 'string') return 'must be a string';
  if (name === '') return 'must not be empty';
  if (Buffer.byteLength(name) > 255) return 'must be at most 255 bytes long';
  if (/[/\\]/.test(name)) return 'must not contain "/" or "\\": it is a label, not a path';
  if (/\p{Cc}/u.test(name)) return 'must not contain control characters';
  return undefined;
}

/**
 * What is wrong with the type of a file: the rest of a sentence whose subject is the type. Undefined if nothing is.
 *
 * @param mimeType `type/subtype` with optional parameters, at most 255 characters
 */
export function faultOfMediaType(mimeType: unknown): string | undefined {
  if (typeof mimeType !== 'string') return 'must be a string';
  if (mimeType.length <= 255 && isMediaType(mimeType)) return undefined;
  return 'must be a media type such as "text/csv", at most 255 characters long';
}
