import { decoderOf } from './code-pages.js';
import type { Encoding } from './code-pages.js';

const UTF_16_LE: Encoding = { label: 'utf-16le', name: 'UTF-16, little-endian' };
const UTF_16_BE: Encoding = { label: 'utf-16be', name: 'UTF-16, big-endian' };
const UTF_32_LE: Encoding = { label: 'utf-32le', name: 'UTF-32, little-endian' };
const UTF_32_BE: Encoding = { label: 'utf-32be', name: 'UTF-32, big-endian' };
/** Byte order marks. That of UTF-32 begins with that of UTF-16. */
const MARKS: [mark: number[], encoding: Encoding][] = [
  [[0xff, 0xfe, 0, 0], UTF_32_LE],
  [[0, 0, 0xfe, 0xff], UTF_32_BE],
  [[0xff, 0xfe], UTF_16_LE],
  [[0xfe, 0xff], UTF_16_BE],
];
/** What no text has: characters for nothing, for private use, and controls other than line breaks and tabs. */
const NO_TEXT = /[\p{Cn}\p{Co}\p{Cs}\ufffd]|(?![\t\n\f\r])\p{Cc}/u;
/** Bytes that show an encoding without a mark. */
const SAMPLE = 4096;

/** The encoding that a byte order mark of two or four bytes shows. */
export function markedEncoding(head: Uint8Array): Encoding | undefined {
  return MARKS.find(([mark]) => mark.every((byte, at) => head[at] === byte))?.[1];
}

/** The encoding of a text with zero bytes and without a mark: characters of four or two bytes. */
export function unmarkedEncoding(head: Uint8Array): Encoding | undefined {
  const bytes = head.subarray(0, SAMPLE);
  const found =
    [UTF_32_LE, UTF_32_BE].find(({ label }) => bytes.length % 4 === 0 && isText(bytes, label)) ??
    latinUtf16(head) ??
    otherUtf16(bytes.subarray(0, bytes.length & ~1));
  return found && { ...found, name: `${found.name}, unmarked` };
}

/** In UTF-16, every second byte of mostly Western text is zero: either the even or the odd bytes. */
function latinUtf16(head: Uint8Array): Encoding | undefined {
  const zeros = [0, 0];
  head.forEach((byte, index) => {
    if (byte === 0) zeros[index % 2]! += 1;
  });
  const pairs = head.length / 2;
  const [even = 0, odd = 0] = zeros;
  if (odd > pairs * 0.7 && even === 0) return UTF_16_LE;
  return even > pairs * 0.7 && odd === 0 ? UTF_16_BE : undefined;
}

/** In other scripts, the high bytes differ much less than the low ones. */
function otherUtf16(bytes: Uint8Array): Encoding | undefined {
  const different = [0, 1].map((first) => new Set(bytes.filter((_, at) => at % 2 === first)).size);
  const [even = 0, odd = 0] = different;
  if (odd * 2 <= even && isText(bytes, 'utf-16le')) return UTF_16_LE;
  return even * 2 <= odd && isText(bytes, 'utf-16be') ? UTF_16_BE : undefined;
}

function isText(bytes: Uint8Array, label: string): boolean {
  // A character may be cut at the end.
  return bytes.length >= 8 && !NO_TEXT.test(decoderOf(label).decode(bytes, { stream: true }));
}
