import { limitExceeded } from '../contract/refusals.js';
import type { BodyLimits } from '../options/table.js';

/** Bytes of the longest way to write one character in a JSON string: an escape such as `\u0041`. */
const LONGEST_CHARACTER = 6;

/**
 * Refuses a body because of its length alone, before a byte of it is read (and before `100 Continue` is sent).
 *
 * Only a length that cannot fit is refused. The longest body that fits has all files at their limit, with each character
 * of their base64 written as an escape, and the rest of the document at its limit. A compressed body is never refused here.
 *
 * @param headers the request's headers, names in lower case
 * @throws {QueryError} `limit_exceeded`
 */
export function refuseByLength(
  headers: { 'content-length'?: string | undefined; 'content-encoding'?: string | undefined },
  limits: BodyLimits,
): void {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding !== '' && encoding !== 'identity') return;
  const base64Characters = Math.ceil(limits.filesBytes / 3) * 4 + limits.parts * 4;
  const longest = base64Characters * LONGEST_CHARACTER + limits.documentBytes;
  if (Number(headers['content-length']) > longest) throw limitExceeded('filesBytes', limits.filesBytes);
}
