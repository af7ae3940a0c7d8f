import { Base64Decoder, type Base64Fault } from './base64-decoder.js';
import { limitExceeded } from '../contract/refusals.js';
import type { FileContent } from '../files/content.js';
import type { ContentWriter } from '../files/content-writer.js';
import type { BodyContents } from '../files/body-contents.js';
import { EscapeToken, Utf8Sequence } from './json-tokens.js';

/** What a string of the JSON text is in the query. The roles from `Content` on are left out of the document. */
export enum Role {
  Other,
  /** The name of a member. */
  Name,
  /** The `text` of a part. */
  PartText,
  /** The `base64` of a part. */
  Content,
  /** The rest of a `base64` after a fault in it: no longer decoded. */
  Faulty,
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** 1 for each ASCII byte that may stand in a string unescaped. */
const UNESCAPED = new Uint8Array(256).fill(1, 0x20, 0x80);
UNESCAPED[QUOTE] = UNESCAPED[BACKSLASH] = 0;

/**
 * A string (RFC 8259 §7) after its opening quote, in chunks that may be cut anywhere: checks it, counts a `text` against
 * its limit, and decodes a `base64`.
 */
export class StringToken {
  /** What the string is; `Other` between strings. */
  role = Role.Other;
  /** False once a character came that is not ASCII. */
  ascii = true;
  /** Indexes in the current chunk; -1 if they are not known. */
  private nextQuote = -1;
  private nextBackslash = -1;
  private escaping = false;
  private part = -1;
  private textBytes = 0;
  private afterHighSurrogate = false;
  private writer: ContentWriter | undefined;
  private decoder: Base64Decoder | undefined;
  private readonly escape = new EscapeToken();
  private readonly utf8 = new Utf8Sequence();

  /** @param refuse throws the error for the byte at an index of the chunk; `expected` says what was expected there */
  constructor(
    private readonly contents: BodyContents,
    private readonly refuse: (index: number, expected: string) => never,
  ) {}

  /** Whether the string had an escape, or a part of one, since this was last reset. */
  escaped = false;

  /** Whether an escape has begun and has not ended. */
  get isEscaping(): boolean {
    return this.escaping;
  }

  /** What may come next, for an error. */
  get expected(): string {
    return this.escaping ? this.escape.expected : 'the rest of a string';
  }

  /** True if the bytes of the string are left out of the document. */
  get leftOut(): boolean {
    return this.role >= Role.Content;
  }

  /** A new chunk begins: what is known of the previous one no longer applies. */
  beginChunk(): void {
    this.nextQuote = this.nextBackslash = -1;
  }

  /** @param part the index of the part that the string belongs to, if it belongs to one */
  begin(role: Role, part: number): void {
    this.role = role;
    this.part = part;
    if (role === Role.PartText) {
      this.textBytes = 0;
      this.afterHighSurrogate = false;
    } else if (role === Role.Content) {
      this.writer = this.contents.begin(part);
      this.decoder = new Base64Decoder(this.writer);
    }
  }

  /**
   * Scans the string from an index of the chunk on.
   *
   * @returns the index of the closing quote, or `bytes.length` if it has not come
   * @throws {QueryError} `invalid_json` · `limit_exceeded`
   */
  scan(bytes: Buffer, from: number): number {
    let index = from;
    while (index < bytes.length) {
      if (this.escaping) {
        index = this.scanEscape(bytes, index);
        continue;
      }
      index = this.role === Role.Content ? this.scanContent(bytes, index) : this.scanText(bytes, index);
      if (!this.escaping && bytes[index] === QUOTE) return index;
    }
    return index;
  }

  /** Ends the string at its closing quote. Returns its content or its fault, if it is a `base64`. */
  end(): FileContent | Base64Fault | undefined {
    const { role, decoder } = this;
    this.role = Role.Other;
    if (role === Role.Faulty) return decoder!.fault;
    if (role !== Role.Content) return undefined;
    decoder!.end();
    if (!decoder!.fault) return this.writer!.finish();
    this.writer!.discard();
    return decoder!.fault;
  }

  /** Returns the index of the closing quote, the index after a backslash, or the end of the chunk. */
  private scanText(bytes: Buffer, from: number): number {
    let index = this.utf8.open ? this.scanSequence(bytes, from) : from;
    while (index < bytes.length) {
      const byte = bytes[index]!;
      if (UNESCAPED[byte]) {
        index++;
      } else if (byte >= 0x80) {
        index = this.scanSequence(bytes, index);
      } else {
        this.count(index - from);
        if (byte === QUOTE) return index;
        if (byte === BACKSLASH) return this.beginEscape(index);
        this.refuse(index, 'the rest of a string, control characters being escaped');
      }
    }
    this.count(index - from);
    return index;
  }

  /** Returns the index after the bytes of a character that is not ASCII. */
  private scanSequence(bytes: Buffer, from: number): number {
    this.ascii = false;
    let index = from;
    do {
      if (!this.utf8.accept(bytes[index]!)) this.refuse(index, 'well-formed UTF-8');
      index++;
    } while (this.utf8.open && index < bytes.length);
    return index;
  }

  private scanContent(bytes: Buffer, from: number): number {
    // Each search continues where the last one ended: a chunk of many short strings is searched only once.
    if (this.nextQuote < from) this.nextQuote = indexOrEnd(bytes, QUOTE, from);
    if (this.nextBackslash < from) this.nextBackslash = indexOrEnd(bytes, BACKSLASH, from);
    const decoder = this.decoder!;
    const index = decoder.decode(bytes, from, Math.min(this.nextQuote, this.nextBackslash));
    if (decoder.fault) this.discardContent();
    else if (bytes[index] === BACKSLASH) return this.beginEscape(index);
    return index;
  }

  private discardContent(): void {
    this.writer!.discard();
    this.role = Role.Faulty;
  }

  private beginEscape(index: number): number {
    this.escape.begin();
    this.escaping = true;
    this.escaped = true;
    return index + 1;
  }

  private scanEscape(bytes: Buffer, index: number): number {
    const { escape } = this;
    if (!escape.accept(bytes[index]!)) this.refuse(index, escape.expected);
    if (!escape.complete) return index + 1;
    this.escaping = false;
    if (this.role === Role.PartText) this.countEscaped(escape.code);
    else if (this.role !== Role.Content) this.count(1);
    else if (!this.decoder!.decodeCharacter(escape.code)) this.discardContent();
    return index + 1;
  }

  /** Counts bytes of a string that are not part of an escape. */
  private count(bytes: number): void {
    if (bytes === 0) return;
    if (this.role === Role.PartText) {
      this.afterHighSurrogate = false;
      this.countText(bytes);
    } else if (this.role === Role.Faulty) {
      this.writer!.countUndecoded(bytes);
    }
  }

  /** Counts an escaped code unit as in UTF-8: the second of a surrogate pair adds one byte to the three of the first. */
  private countEscaped(code: number): void {
    const pair = this.afterHighSurrogate && code >= 0xdc00 && code <= 0xdfff;
    this.afterHighSurrogate = code >= 0xd800 && code <= 0xdbff;
    this.countText(code < 0x80 ? 1 : code < 0x800 ? 2 : pair ? 1 : 3);
  }

  private countText(bytes: number): void {
    const { textBytes } = this.contents.limits;
    this.textBytes += bytes;
    if (this.textBytes > textBytes) throw limitExceeded('textBytes', textBytes, this.part);
  }
}

function indexOrEnd(bytes: Buffer, byte: number, from: number): number {
  const index = bytes.indexOf(byte, from);
  return index < 0 ? bytes.length : index;
}
