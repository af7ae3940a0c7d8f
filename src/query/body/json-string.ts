import { Base64Decoder, type Base64Fault } from './base64-decoder.js';
import type { Contents, ContentWriter, FileContent } from '../files/contents.js';
import { EscapeToken, Utf8Sequence } from './json-tokens.js';
import { limitExceeded } from './limits.js';

/** What a string is to the query. */
export enum Role {
  Other,
  /** The name of a member. */
  Name,
  /** The `text` of a part. */
  PartText,
  /** The `base64` of a part. */
  Content,
  /** The rest of a `base64` after its fault: no longer decoded. */
  Faulty,
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** 1 for each byte that stands for itself in a string. */
const PLAIN = new Uint8Array(256).fill(1, 0x20, 0x80);
PLAIN[QUOTE] = PLAIN[BACKSLASH] = 0;

/** A string (RFC 8259 §7) after its opening quote, cut anywhere: checked, counted, and decoded where it is a content. */
export class StringToken {
  /** What the string is; `Other` between strings. */
  role = Role.Other;
  /** False once a character came that is not ASCII. */
  ascii = true;
  private nextQuote = -1;
  private nextBackslash = -1;
  private escaping = false;
  private part = -1;
  private textBytes = 0;
  private highSurrogate = false;
  private writer: ContentWriter | undefined;
  private decoder: Base64Decoder | undefined;
  private readonly escape = new EscapeToken();
  private readonly utf8 = new Utf8Sequence();

  /**
   * @param contents takes what is decoded
   * @param refuse throws the error for the byte at a position and what was expected there
   */
  constructor(
    private readonly contents: Contents,
    private readonly refuse: (at: number, expected: string) => never,
  ) {}

  /** What may come next, for an error. */
  get expected(): string {
    return this.escaping ? this.escape.expected : 'the rest of a string';
  }

  /** True where the bytes of the string do not belong into the document. */
  get apart(): boolean {
    return this.role >= Role.Content;
  }

  /** Forgets positions in the bytes before. */
  nextBytes(): void {
    this.nextQuote = this.nextBackslash = -1;
  }

  /** @param part the index of the part that the string belongs to, if it belongs to one */
  begin(role: Role, part: number): void {
    this.role = role;
    this.part = part;
    if (role === Role.PartText) {
      this.textBytes = 0;
      this.highSurrogate = false;
    } else if (role === Role.Content) {
      this.writer = this.contents.begin(part);
      this.decoder = new Base64Decoder(this.writer);
    }
  }

  /**
   * Takes what there is of the string in `bytes`.
   *
   * @returns the position of the closing quote, or `bytes.length` if it has not come
   * @throws QueryError `invalid_json` or `limit_exceeded`
   */
  take(bytes: Buffer, from: number): number {
    let at = from;
    while (at < bytes.length) {
      if (this.escaping) {
        at = this.inEscape(bytes, at);
        continue;
      }
      at = this.role === Role.Content ? this.inContent(bytes, at) : this.inText(bytes, at);
      if (!this.escaping && bytes[at] === QUOTE) return at;
    }
    return at;
  }

  /** Ends the string at its closing quote. Returns its content, if it is one. */
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

  /** Returns the position of the closing quote, that after a backslash, or the end. */
  private inText(bytes: Buffer, from: number): number {
    let at = this.utf8.open ? this.sequence(bytes, from) : from;
    while (at < bytes.length) {
      const byte = bytes[at]!;
      if (PLAIN[byte]) {
        at++;
      } else if (byte >= 0x80) {
        at = this.sequence(bytes, at);
      } else {
        this.count(at - from);
        if (byte === QUOTE) return at;
        if (byte === BACKSLASH) return this.beginEscape(at);
        this.refuse(at, 'the rest of a string, control characters being escaped');
      }
    }
    this.count(at - from);
    return at;
  }

  /** Passes over the bytes of a character that is not ASCII. */
  private sequence(bytes: Buffer, from: number): number {
    this.ascii = false;
    let at = from;
    do {
      if (!this.utf8.take(bytes[at]!)) this.refuse(at, 'well-formed UTF-8');
      at++;
    } while (this.utf8.open && at < bytes.length);
    return at;
  }

  private inContent(bytes: Buffer, from: number): number {
    // Each search goes on where the last one ended, so that no byte is looked at again for every short string.
    if (this.nextQuote < from) this.nextQuote = next(bytes, QUOTE, from);
    if (this.nextBackslash < from) this.nextBackslash = next(bytes, BACKSLASH, from);
    const decoder = this.decoder!;
    const at = decoder.decode(bytes, from, Math.min(this.nextQuote, this.nextBackslash));
    if (decoder.fault) this.giveUpContent();
    else if (bytes[at] === BACKSLASH) return this.beginEscape(at);
    return at;
  }

  private giveUpContent(): void {
    this.writer!.discard();
    this.role = Role.Faulty;
  }

  private beginEscape(at: number): number {
    this.escape.begin();
    this.escaping = true;
    return at + 1;
  }

  private inEscape(bytes: Buffer, at: number): number {
    const { escape } = this;
    if (!escape.take(bytes[at]!)) this.refuse(at, escape.expected);
    if (!escape.done) return at + 1;
    this.escaping = false;
    if (this.role === Role.PartText) this.countEscaped(escape.code);
    else if (this.role !== Role.Content) this.count(1);
    else if (!this.decoder!.put(escape.code)) this.giveUpContent();
    return at + 1;
  }

  /** Counts bytes of a string that stand for themselves. */
  private count(bytes: number): void {
    if (bytes === 0) return;
    if (this.role === Role.PartText) {
      this.highSurrogate = false;
      this.countText(bytes);
    } else if (this.role === Role.Faulty) {
      this.writer!.skipped(bytes);
    }
  }

  /** An escaped code unit counts as in UTF-8: the second of a surrogate pair adds one byte to the three of the first. */
  private countEscaped(code: number): void {
    const pair = this.highSurrogate && code >= 0xdc00 && code <= 0xdfff;
    this.highSurrogate = code >= 0xd800 && code <= 0xdbff;
    this.countText(code < 0x80 ? 1 : code < 0x800 ? 2 : pair ? 1 : 3);
  }

  private countText(bytes: number): void {
    const { textBytes } = this.contents.limits;
    this.textBytes += bytes;
    if (this.textBytes > textBytes) throw limitExceeded('textBytes', textBytes, this.part);
  }
}

function next(bytes: Buffer, byte: number, from: number): number {
  const at = bytes.indexOf(byte, from);
  return at < 0 ? bytes.length : at;
}
