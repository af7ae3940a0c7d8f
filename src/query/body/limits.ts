import { QueryError } from '../contract/errors.js';

/**
 * What one body may hold. Every limit counts what arrives after `Content-Encoding` is undone, and is enforced while the
 * body arrives: a body that passes a limit is refused at that byte, never read to its end first.
 */
export interface BodyLimits {
  /** Decoded bytes of one file. */
  fileBytes: number;
  /** Decoded bytes of all files of a body, those that a duplicate member replaced included. */
  filesBytes: number;
  /** Bytes of UTF-8 in the `text` of one part, escapes undone. */
  textBytes: number;
  /** Bytes of the JSON itself: everything but the characters inside the `base64` strings of parts. */
  documentBytes: number;
  /** Elements of `parts`. */
  parts: number;
  /** Arrays and objects inside one another, the outermost counted as 1. */
  depth: number;
  /** Milliseconds that may pass without a byte from the sender. */
  idleMs: number;
  /** Bytes of a file that are kept in memory; the content of a larger one goes to disk. */
  memoryBytes: number;
}

const MiB = 1024 * 1024;

/** The limits that hold unless a host sets others. */
export const DEFAULT_BODY_LIMITS: Readonly<BodyLimits> = Object.freeze({
  fileBytes: 256 * MiB,
  filesBytes: 512 * MiB,
  textBytes: 8 * MiB,
  documentBytes: 16 * MiB,
  parts: 1000,
  depth: 64,
  idleMs: 30_000,
  memoryBytes: 64 * 1024,
});

/** The limits that a caller can pass, as they are named in a problem. */
export type CallerLimit = 'fileBytes' | 'filesBytes' | 'textBytes' | 'documentBytes' | 'parts' | 'depth';

const SENTENCES: Record<CallerLimit, (value: number) => string> = {
  fileBytes: (value) => `The file is larger than ${value} bytes.`,
  filesBytes: (value) => `The files are larger than ${value} bytes together.`,
  textBytes: (value) => `The text is longer than ${value} bytes.`,
  documentBytes: (value) => `The body has more than ${value} bytes besides the content of its files.`,
  parts: (value) => `The query has more than ${value} parts.`,
  depth: (value) => `The body nests arrays and objects more than ${value} deep.`,
};

/** The error for a passed limit: code `limit_exceeded`, with the limit's name, its value and the part at fault if one is. */
export function limitExceeded(limit: CallerLimit, value: number, part?: number): QueryError {
  const where = part === undefined ? '' : `Part ${part}: `;
  return new QueryError('limit_exceeded', where + SENTENCES[limit](value), {
    limit,
    value,
    ...(part === undefined ? {} : { part }),
  });
}

/** The longest way to write one character in a JSON string is an escape such as `\u0041`. */
const LONGEST_CHARACTER = 6;

/**
 * Refuses a body on its length alone, before a byte of it is read (and before `100 Continue` is sent).
 *
 * Only a length that cannot fit is refused: one that is longer than all files at their limit, each character of their
 * base64 written as an escape, and the rest of the document at its limit. A compressed body is never refused here.
 *
 * @param headers the request's headers, names in lower case
 * @throws QueryError `limit_exceeded`
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
