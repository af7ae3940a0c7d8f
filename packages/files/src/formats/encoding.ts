import { isAscii } from 'node:buffer';
import { bytesOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';

/** A character encoding. */
export interface Encoding {
  /** Its label for `TextDecoder`. */
  label: 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';
  /** Its name in answers. */
  name: string;
}

const LEGACY: Encoding = { label: 'windows-1252', name: 'not UTF-8, read as Windows-1252' };

/**
 * Detects by the beginning of a file whether it is Unicode text, and in which encoding.
 *
 * @param head the first bytes of the file
 * @param whole whether these are all of its bytes; otherwise the last character may be cut
 * @returns undefined if the bytes are not Unicode text
 */
export function unicodeEncoding(head: Uint8Array, whole: boolean): Encoding | undefined {
  if (startsWith(head, 0xef, 0xbb, 0xbf)) return { label: 'utf-8', name: 'UTF-8 with a byte order mark' };
  if (startsWith(head, 0xff, 0xfe)) return { label: 'utf-16le', name: 'UTF-16, little-endian' };
  if (startsWith(head, 0xfe, 0xff)) return { label: 'utf-16be', name: 'UTF-16, big-endian' };
  if (head.includes(0)) return utf16WithoutMark(head);
  if (hasControls(head)) return undefined;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: !whole });
    return { label: 'utf-8', name: 'UTF-8' };
  } catch {
    return undefined;
  }
}

/** The most common legacy encoding, for bytes that are not Unicode but may be text; undefined for other bytes. */
export function legacyEncoding(head: Uint8Array): Encoding | undefined {
  return head.includes(0) || hasControls(head) ? undefined : LEGACY;
}

/**
 * The encoding of a text whose beginning is UTF-8: what comes later may show that it is the legacy encoding after all. It is, if
 * there are bytes outside of ASCII and none of them is UTF-8.
 *
 * @param chunks all bytes; not read if the beginning has shown the encoding for certain
 */
export async function exactEncoding(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  encoding: Encoding,
): Promise<Encoding> {
  if (encoding.name !== 'UTF-8') return encoding;
  const decoder = new TextDecoder('utf-8');
  let isInside = false;
  let undecodable = 0;
  for await (const chunk of chunks) {
    if (!isInside && isAscii(chunk)) continue;
    isInside = chunk.at(-1)! > 0x7f;
    for (const character of decoder.decode(chunk, { stream: true }).match(/[^\0-\x7f]/g) ?? []) {
      if (character !== '\ufffd') return encoding;
      undecodable += 1;
    }
  }
  return undecodable > 0 ? LEGACY : encoding;
}

/** Decodes chunks. Ill-formed bytes become U+FFFD, and a byte order mark is left out. */
export async function* decode(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  encoding: Encoding,
): AsyncGenerator<string> {
  const decoder = new TextDecoder(encoding.label);
  for await (const chunk of chunks) yield decoder.decode(chunk, { stream: true });
  yield decoder.decode();
}

/** Decodes a part of a document, which is UTF-8 if it does not say what else it is. */
export async function* decodeMarkup(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  yield* decode(chunks, { label: 'utf-8', name: 'UTF-8' });
}

/** Decodes a file in chunks. */
export function textOf(file: FileSource, encoding: Encoding): AsyncGenerator<string> {
  return decode(bytesOf(file), encoding);
}

function startsWith(head: Uint8Array, ...signature: number[]): boolean {
  return signature.every((byte, index) => head[index] === byte);
}

/** In UTF-16, every second byte of mostly Western text is zero: either the even or the odd bytes. */
function utf16WithoutMark(head: Uint8Array): Encoding | undefined {
  const zeros = [0, 0];
  head.forEach((byte, index) => {
    if (byte === 0) zeros[index % 2]! += 1;
  });
  const pairs = head.length / 2;
  const [even = 0, odd = 0] = zeros;
  if (odd > pairs * 0.7 && even === 0) return { label: 'utf-16le', name: 'UTF-16, little-endian, unmarked' };
  if (even > pairs * 0.7 && odd === 0) return { label: 'utf-16be', name: 'UTF-16, big-endian, unmarked' };
  return undefined;
}

/** Whether there are control characters that do not occur in text. Terminal escapes, tabs and page breaks do. */
function hasControls(head: Uint8Array): boolean {
  const common = [0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x1a, 0x1b];
  return head.some((byte) => byte < 0x20 && !common.includes(byte));
}
