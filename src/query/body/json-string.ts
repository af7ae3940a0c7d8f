import { StringDecoder } from 'node:string_decoder';
import { limitExceeded } from '../contract/refusals.js';
import type { BodyContents } from '../files/body-contents.js';
import type { BodyContent } from '../files/content.js';
import { Base64Decoder, type Base64Fault } from './base64-decoder.js';
import { DataUrl, DataUrlHeader } from './data-url.js';
import type { StringKind } from './places.js';
import { Utf8Sequence } from './utf8-sequence.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LOWER_U = 0x75;

/** 1 for each ASCII byte that may stand in a string unescaped. */
const UNESCAPED = new Uint8Array(256).fill(1, 0x20, 0x80);
UNESCAPED[QUOTE] = UNESCAPED[BACKSLASH] = 0;

/** The code unit that each letter after a backslash stands for; 0 for none, and for `u`. */
const ESCAPED = new Uint8Array(256);
const ESCAPES = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
for (const [letter, meaning] of Object.entries(ESCAPES))
  ESCAPED[letter.charCodeAt(0)] = meaning.charCodeAt(0);

const NO_DIGIT = 16;
const HEX_DIGITS = new Uint8Array(256).fill(NO_DIGIT);
for (const digit of '0123456789abcdefABCDEF') HEX_DIGITS[digit.charCodeAt(0)] = parseInt(digit, 16);

/** Bytes of an escape such as `\u0041`. */
const LONGEST_ESCAPE = 6;

/**
 * A string (RFC 8259 §7) after its opening quote, in chunks that may be cut anywhere: checks it, and counts it as a text or decodes
 * it as the content of a file, as its place says.
 */
export class StringToken {
  /** Indexes in the current chunk; -1 if they are not known. */
  #nextQuote = -1;
  #nextBackslash = -1;
  /** Bytes of the escape that has begun and not ended; 0 if there is none. */
  #escapeLength = 0;
  /** The code unit that the escape stands for, as far as its digits have come. */
  #code = 0;
  readonly #utf8 = new Utf8Sequence();
  #kind: StringKind | undefined;
  /** The JSON Pointer of a string that is counted or decoded. */
  #pointer = '';
  #textBytes = 0;
  #isAfterHighSurrogate = false;
  #decoder: Base64Decoder | undefined;
  /** Until it is known whether the string is a `data:` URL. */
  #header: DataUrlHeader | undefined;
  /** The media type of the `data:` URL that the string is. */
  #mimeType: string | undefined;
  #text = '';
  /** Whether there was an escape, or a part of one, in the bytes that the text does not have yet. */
  #hasEscape = false;
  /** The beginning of an escape whose rest has not come. */
  #unfinished = '';
  /** Made for the first character that is not ASCII: all strings of most bodies are. */
  #utf8Decoder: StringDecoder | undefined;

  /** @param refuse throws the error for the byte at an index of the chunk; `expected` says what was expected there */
  constructor(
    private readonly contents: BodyContents,
    private readonly refuse: (index: number, expected: string) => never,
  ) {}

  /** What may come next, for an error. */
  get expected(): string {
    if (this.#escapeLength === 0) return 'the rest of a string';
    return this.#escapeLength === 1 ? 'one of " \\ / b f n r t u after a backslash' : 'a hexadecimal digit';
  }

  get isContent(): boolean {
    return this.#decoder !== undefined;
  }

  /** A new chunk begins: what is known of the previous one no longer applies. */
  beginChunk(): void {
    this.#nextQuote = this.#nextBackslash = -1;
  }

  /** @param pointer the JSON Pointer of the string, if its place has a kind */
  begin(kind?: StringKind, pointer = ''): void {
    this.#text = '';
    this.#hasEscape = false;
    this.#kind = kind;
    this.#pointer = pointer;
    this.#decoder = this.#header = this.#mimeType = undefined;
    if (kind === 'base64') {
      this.#beginContent();
    } else if (kind === 'text') {
      this.#textBytes = 0;
      this.#isAfterHighSurrogate = false;
    } else if (kind !== undefined) {
      this.#header = new DataUrlHeader();
    }
  }

  #beginContent(): void {
    this.#decoder = new Base64Decoder(this.contents.begin(this.#pointer));
  }

  /** Scans from an index of the chunk on. Returns the index of the closing quote, or the end of the chunk if it has not come. */
  scan(bytes: Buffer, from: number): number {
    let index = this.#header ? this.#scanHeader(this.#header, bytes, from) : from;
    if (this.#header) return index;
    const begin = index;
    const decoder = this.#decoder;
    while (index < bytes.length) {
      if (this.#escapeLength > 0) {
        this.#scanEscape(bytes[index]!, index);
        index++;
        continue;
      }
      if (decoder && !decoder.fault) {
        index = this.#scanContent(decoder, bytes, index);
      } else {
        const start = index;
        index = this.#scanText(bytes, start);
        this.#count(index - start);
      }
      if (bytes[index] === QUOTE) break;
      if (bytes[index] !== BACKSLASH) continue;
      this.#escapeLength = 1;
      this.#hasEscape = true;
      index++;
    }
    if (!decoder) this.#append(bytes, begin, index);
    return index;
  }

  /** Ends the string at its closing quote, and returns its value. */
  end(): string | BodyContent | Base64Fault | DataUrl {
    if (this.#header) this.#endHeader(this.#header);
    if (!this.#decoder) return this.#text;
    const content = this.#decoder.end();
    return this.#mimeType === undefined ? content : new DataUrl(this.#mimeType, content);
  }

  /** Returns the index after the last character that was needed, of the closing quote, or of the end of the chunk. */
  #scanHeader(header: DataUrlHeader, bytes: Buffer, from: number): number {
    let index = from;
    for (; this.#header && index < bytes.length; index++) {
      const byte = bytes[index]!;
      if (this.#escapeLength > 0) this.#scanEscape(byte, index);
      else if (byte === QUOTE) break;
      else if (byte === BACKSLASH) this.#escapeLength = 1;
      else if (!UNESCAPED[byte]) {
        // Refused, or the beginning of a character that is not ASCII: no such string is a `data:` URL.
        this.#endHeader(header);
        break;
      } else this.#takeHeader(header, byte);
    }
    return index;
  }

  #takeHeader(header: DataUrlHeader, code: number): void {
    if (header.take(code)) this.#endHeader(header);
  }

  /** It is known what the string is: a content from here on, or a text. */
  #endHeader({ text, mimeType }: DataUrlHeader): void {
    this.#header = undefined;
    this.#mimeType = mimeType ?? undefined;
    if (this.#mimeType !== undefined || this.#kind === 'file') this.#beginContent();
    else this.#text = text;
    if (this.#mimeType !== undefined || !this.#decoder) return;
    for (let index = 0; index < text.length && !this.#decoder.fault; index++)
      this.#decoder.decodeCharacter(text.charCodeAt(index));
  }

  /** Returns the index of the closing quote, of a backslash, or of the end of the chunk. */
  #scanText(bytes: Buffer, from: number): number {
    let index = this.#utf8.isOpen ? this.#scanSequence(bytes, from) : from;
    while (index < bytes.length) {
      const byte = bytes[index]!;
      if (UNESCAPED[byte]) index++;
      else if (byte >= 0x80) index = this.#scanSequence(bytes, index);
      else if (byte === QUOTE || byte === BACKSLASH) return index;
      else this.refuse(index, 'the rest of a string, control characters being escaped');
    }
    return index;
  }

  /** Returns the index after the bytes of a character that is not ASCII. */
  #scanSequence(bytes: Buffer, from: number): number {
    this.#utf8Decoder ??= new StringDecoder('utf8');
    let index = from;
    do {
      if (!this.#utf8.accept(bytes[index]!)) this.refuse(index, 'well-formed UTF-8');
      index++;
    } while (this.#utf8.isOpen && index < bytes.length);
    return index;
  }

  /** Returns the index of the closing quote, of a backslash, of the first byte that is not base64, or of the end of the chunk. */
  #scanContent(decoder: Base64Decoder, bytes: Buffer, from: number): number {
    // Each search continues where the last one ended: a chunk of many short strings is searched only once.
    if (this.#nextQuote < from) this.#nextQuote = indexOrEnd(bytes, QUOTE, from);
    if (this.#nextBackslash < from) this.#nextBackslash = indexOrEnd(bytes, BACKSLASH, from);
    return decoder.decode(bytes, from, Math.min(this.#nextQuote, this.#nextBackslash));
  }

  #scanEscape(byte: number, index: number): void {
    if (this.#escapeLength === 1) {
      this.#code = ESCAPED[byte]!;
      if (this.#code > 0) return this.#endEscape();
      if (byte !== LOWER_U) this.refuse(index, this.expected);
    } else {
      const digit = HEX_DIGITS[byte]!;
      if (digit === NO_DIGIT) this.refuse(index, this.expected);
      this.#code = this.#code * 16 + digit;
    }
    this.#escapeLength++;
    if (this.#escapeLength === LONGEST_ESCAPE) this.#endEscape();
  }

  #endEscape(): void {
    const decoder = this.#decoder;
    const header = this.#header;
    this.#escapeLength = 0;
    if (header) this.#takeHeader(header, this.#code);
    else if (decoder && !decoder.fault) decoder.decodeCharacter(this.#code);
    else if (this.#kind === 'text') this.#countEscaped(this.#code);
    else this.#count(1);
  }

  /** Adds `bytes[from..to)` to the text. Their escapes are undone together, which is faster than one by one. */
  #append(bytes: Buffer, from: number, to: number): void {
    const piece = this.#utf8Decoder?.write(bytes.subarray(from, to)) ?? bytes.toString('latin1', from, to);
    const text = this.#hasEscape ? this.#unescaped(this.#unfinished + piece) : piece;
    this.#text += text;
  }

  #unescaped(text: string): string {
    this.#hasEscape = this.#escapeLength > 0;
    const end = this.#hasEscape ? text.lastIndexOf('\\') : text.length;
    this.#unfinished = text.slice(end);
    return JSON.parse(`"${text.slice(0, end)}"`) as string;
  }

  /** Counts bytes of a string that are not part of an escape. */
  #count(bytes: number): void {
    if (this.#decoder) {
      this.#decoder.skip(bytes);
    } else if (this.#kind === 'text' && bytes > 0) {
      this.#isAfterHighSurrogate = false;
      this.#countText(bytes);
    }
  }

  /** Counts an escaped code unit as in UTF-8: the second of a surrogate pair adds one byte to the three of the first. */
  #countEscaped(code: number): void {
    const isPair = this.#isAfterHighSurrogate && code >= 0xdc00 && code <= 0xdfff;
    this.#isAfterHighSurrogate = code >= 0xd800 && code <= 0xdbff;
    if (code < 0x80 || isPair) this.#countText(1);
    else this.#countText(code < 0x800 ? 2 : 3);
  }

  #countText(bytes: number): void {
    const { textBytes } = this.contents.limits;
    this.#textBytes += bytes;
    if (this.#textBytes > textBytes) throw limitExceeded('textBytes', textBytes, this.#pointer);
  }
}

function indexOrEnd(bytes: Buffer, byte: number, from: number): number {
  const index = bytes.indexOf(byte, from);
  return index < 0 ? bytes.length : index;
}
