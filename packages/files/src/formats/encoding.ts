import { isAscii, isUtf8 } from 'node:buffer';
import { bytesOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import { code } from '../markdown.js';
import { decoderOf, labelOf } from './code-pages.js';
import type { Decoder, Encoding } from './code-pages.js';
import { likelyLabels, likelyLabelsOfNames } from './guess-encoding.js';
import { markedEncoding, unmarkedEncoding } from './wide-encodings.js';

const UTF_8: Encoding = { label: 'utf-8', name: 'UTF-8' };
/** How Japanese begins in ISO-2022-JP, whose bytes are those of ASCII. */
const ISO_2022_JP = ['\x1b$@', '\x1b$B'];
/** The bytes of U+FFFD, which also stands for bytes that cannot be decoded. */
const REPLACEMENTS = new Map([
  ['utf-8', Buffer.from('efbfbd', 'hex')],
  ['utf-16le', Buffer.from('fdff', 'hex')],
  ['utf-16be', Buffer.from('fffd', 'hex')],
  ['gb18030', Buffer.from('8431a437', 'hex')],
]);

/**
 * The encoding of a text that declares it, or is Unicode as its beginning shows.
 *
 * @param mimeType which the caller declares; its `charset` comes before what the text says
 * @param head the first bytes of the file
 * @param whole whether these are all of its bytes; otherwise the last character may be cut
 * @returns undefined if the bytes are no such text
 */
export function certainEncoding(mimeType: string, head: Uint8Array, whole: boolean): Encoding | undefined {
  if (startsWith(head, 0xef, 0xbb, 0xbf)) return { label: 'utf-8', name: 'UTF-8 with a byte order mark' };
  const marked = markedEncoding(head);
  if (marked) return marked;
  const charset = charsetOf(mimeType);
  const label = labelOf(charset || charsetIn(head));
  // UTF-8 needs no declaration, and a page that says UTF-16 in single bytes is none.
  if (/^utf-(?:16|32)/.test(label ?? '') && charset !== '' && !isUtf8(head)) return declared(label!);
  if (head.includes(0)) return unmarkedEncoding(head);
  if (hasControls(head)) return undefined;
  if (label !== undefined && !label.startsWith('utf-')) return declared(label);
  if (ISO_2022_JP.some((escape) => Buffer.from(head).includes(escape)))
    return { label: 'iso-2022-jp', name: 'ISO-2022-JP' };
  return isWellFormed(head, whole) ? UTF_8 : undefined;
}

/** The encoding that a type declares; empty if it declares none. */
function charsetOf(mimeType: string): string {
  return /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(mimeType)?.[1] ?? '';
}

/** What HTML and XML say about their own encoding. */
function charsetIn(head: Uint8Array): string {
  const text = Buffer.from(head).toString('latin1').trimStart();
  if (!text.startsWith('<')) return '';
  const [, ofXml] = /^<\?xml\s[^>]{0,200}\bencoding\s*=\s*["']([^"'>]+)/.exec(text) ?? [];
  const [, ofHtml = ''] = /<meta\s[^>]{0,500}\bcharset\s*=\s*["']?\s*([^\s"'/>;]+)/i.exec(text) ?? [];
  return ofXml ?? ofHtml;
}

function declared(label: string): Encoding {
  return { label, name: `${label}, as declared` };
}

function isWellFormed(head: Uint8Array, whole: boolean): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: !whole });
    return true;
  } catch {
    return false;
  }
}

/** A guess at the encoding of bytes that may be a text but are not Unicode; undefined if they are none. */
export async function guessedEncoding(head: Uint8Array): Promise<Encoding | undefined> {
  if (head.includes(0) || hasControls(head)) return undefined;
  return isDamagedUtf8(head) ? UTF_8 : guessAt(head);
}

async function guessAt(bytes: Uint8Array): Promise<Encoding> {
  const [label = 'windows-1252', other = 'windows-1250'] = await likelyLabels(bytes);
  const name = label === 'windows-1252' ? 'Windows-1252' : label;
  return { label, name: `not UTF-8, read as ${name}`, other };
}

/** The encoding of names of a ZIP archive that do not say what they are. @param mimeType of the archive; its `charset` comes first */
export async function encodingOfNames(mimeType: string, names: Uint8Array[]): Promise<Encoding> {
  const stated = labelOf(charsetOf(mimeType));
  if (stated !== undefined) return declared(stated);
  const [label = 'cp437', other = 'cp850'] = await likelyLabelsOfNames(names);
  return { label, name: label, other };
}

/** Whether single bytes are wrong among many characters of UTF-8. In other encodings, bytes are hardly ever such characters. */
function isDamagedUtf8(head: Uint8Array): boolean {
  let characters = 0;
  const rest = Buffer.from(head)
    .toString('latin1')
    .replace(/[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}/g, () => {
      characters += 1;
      return '';
    });
  return characters > 4 * (rest.match(/[\x80-\xff]/g)?.length ?? 0);
}

/** A sentence about an encoding that is a guess; none if it is certain. */
export function guessNote({ label, other }: Encoding, what = 'a text is'): string[] {
  if (other === undefined) return [];
  const request = code(`encoding ${other}`);
  return [`That ${what} ${label} is a guess: ${request}, for example, reads it as another encoding.`];
}

/**
 * The encoding of a text whose beginning is UTF-8: what comes later may show that it is another one after all. It is, if there are
 * bytes outside of ASCII and none of them is UTF-8.
 *
 * @param chunks all bytes; not read if the beginning has shown the encoding for certain
 */
export async function exactEncoding(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  encoding: Encoding,
): Promise<Encoding> {
  if (encoding.name !== 'UTF-8') return encoding;
  let undecodable = 0;
  let sample: Uint8Array = new Uint8Array();
  async function* sampled(): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      if (sample.length === 0 && !isAscii(chunk)) sample = chunk;
      yield chunk;
    }
  }
  for await (const text of decode(sampled(), encoding, (count) => (undecodable += count))) {
    // U+FFFD that no byte has caused is in the file itself.
    if (/[^\0-\x7f\ufffd]/.test(text) || (undecodable === 0 && text.includes('\ufffd'))) return encoding;
  }
  return undecodable > 0 ? guessAt(sample) : encoding;
}

/**
 * Decodes chunks. Ill-formed bytes become U+FFFD, and a byte order mark is left out.
 *
 * @param onUndecodable receives how many characters U+FFFD ill-formed bytes have become
 */
export async function* decode(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { label }: Encoding,
  onUndecodable: (count: number) => void = () => undefined,
): AsyncGenerator<string> {
  const decoder = decoderOf(label);
  const own = REPLACEMENTS.get(label);
  let before: Uint8Array = new Uint8Array();
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true });
    const found = text.split('\ufffd').length - 1;
    if (found > 0) onUndecodable(found - (own ? timesIn(Buffer.concat([before, chunk]), own) : 0));
    before = own ? chunk.subarray(1 - own.length) : before;
    yield text;
  }
  const rest = decoder.decode();
  if (rest !== '') onUndecodable(rest.length);
  yield rest;
}

function timesIn(bytes: Buffer, part: Buffer): number {
  let times = 0;
  for (let at = bytes.indexOf(part); at >= 0; at = bytes.indexOf(part, at + part.length)) times += 1;
  return times;
}

/** The declared encoding of what is inside of a file: that of the file. */
export function typeInside(mimeType: string): string {
  return mimeType.replace(/^[^;]*/, '');
}

/** Decodes a part of a document, which is UTF-8 if it does not say what else it is. */
export async function* decodeMarkup(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let decoder: Decoder | undefined;
  for await (const chunk of chunks) {
    decoder ??= decoderOf((certainEncoding('', chunk, false) ?? UTF_8).label);
    yield decoder.decode(chunk, { stream: true });
  }
  yield decoder?.decode() ?? '';
}

/** Decodes a file in chunks. */
export function textOf(file: FileSource, encoding: Encoding): AsyncGenerator<string> {
  return decode(bytesOf(file), encoding);
}

function startsWith(head: Uint8Array, ...signature: number[]): boolean {
  return signature.every((byte, index) => head[index] === byte);
}

/** Whether there are control characters that do not occur in text. Terminal escapes, tabs and page breaks do. */
function hasControls(head: Uint8Array): boolean {
  const common = [0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x1a, 0x1b];
  return head.some((byte) => byte < 0x20 && !common.includes(byte));
}
