import { QueryError } from '../errors.js';
import { Base64Decoder } from './base64-decoder.js';
import type { Contents, ContentWriter, FileContent } from './contents.js';
import { DocumentBytes } from './document-bytes.js';
import { EscapeToken, NumberToken, Utf8Sequence } from './json-tokens.js';
import { limitExceeded } from './limits.js';
import { PartContents } from './part-contents.js';

/** What the grammar of RFC 8259 allows next, or the token that the last byte left unfinished. */
enum Now {
  Value,
  ValueOrClose,
  Name,
  NameOrClose,
  Colon,
  CommaOrClose,
  End,
  Literal,
  Number,
  String,
  Content,
  Escape,
}

/** What a string is to the query. */
enum Role {
  Other,
  Name,
  /** The `text` of a part. */
  PartText,
  /** The `base64` of a part. */
  Content,
  /** The rest of a `base64` after its fault: no longer decoded. */
  Faulty,
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];
/** Bytes of the longest way to write a name that matters: six characters, each as `\u0000`. */
const LONGEST_NAME = 36;

/** 1 for each byte that stands for itself in a string. */
const PLAIN = new Uint8Array(256).fill(1, 0x20, 0x80);
PLAIN[QUOTE] = PLAIN[BACKSLASH] = 0;

const NOTHING = Buffer.alloc(0);

/**
 * Reads a query's JSON as its bytes arrive, cut anywhere. What stands in the `base64` of parts is decoded and leaves;
 * the rest is gathered and given to `JSON.parse` at the end, so that the outcome is that of `JSON.parse` for every text.
 *
 * Faults of the grammar and of UTF-8 are found at their byte: QueryError `invalid_json`, naming the byte (the first of
 * the body is 0) and what was expected there. A byte order mark at the beginning is passed over.
 */
export class JsonScanner {
  private now = Now.Value;
  private role = Role.Other;
  /** Bytes of the body before those being scanned. */
  private offset = 0;
  private bytes: Buffer = NOTHING;
  /** Where in `bytes` that begins which is not gathered yet. */
  private mark = 0;
  private nextQuote = 0;
  private nextBackslash = 0;
  private nameStart = 0;
  private textBytes = 0;
  private highSurrogate = false;
  private ascii = true;
  private markBytes = 0;
  private literal = '';
  private literalAt = 0;
  private writer: ContentWriter | undefined;
  private decoder: Base64Decoder | undefined;
  private readonly document: DocumentBytes;
  private readonly parts: PartContents;
  private readonly number = new NumberToken();
  private readonly escape = new EscapeToken();
  private readonly utf8 = new Utf8Sequence();

  constructor(private readonly contents: Contents) {
    this.document = new DocumentBytes(contents.limits.documentBytes);
    this.parts = new PartContents(contents.limits, (content) => contents.queue(() => content.discard()));
  }

  /**
   * Takes the next bytes, at most 64 KiB.
   *
   * @throws QueryError `invalid_json` or `limit_exceeded`; the scanner is of no use after that
   */
  scan(bytes: Buffer): void {
    this.bytes = bytes;
    this.nextQuote = this.nextBackslash = -1;
    let at = this.offset < BYTE_ORDER_MARK.length ? this.byteOrderMark() : 0;
    this.mark = at;
    while (at < bytes.length) at = this.step(at);
    if (this.role < Role.Content) this.gather(bytes.length);
    this.offset += bytes.length;
  }

  /**
   * The body has ended.
   *
   * @returns the document, with its contents in place, and those contents
   * @throws QueryError `invalid_json` where something is missing
   */
  end(): { value: unknown; contents: FileContent[] } {
    const complete = this.now === Now.End || (this.now === Now.Number && this.number.complete);
    if (!complete || this.parts.closer !== undefined) {
      this.bytes = NOTHING;
      this.fail(0);
    }
    const value: unknown = JSON.parse(this.document.text(0, this.ascii ? 'latin1' : 'utf8'));
    return { value, contents: this.parts.putInto(value) };
  }

  private step(at: number): number {
    switch (this.now) {
      case Now.String:
        return this.inString(at);
      case Now.Content:
        return this.inContent(at);
      case Now.Escape:
        return this.inEscape(at);
      case Now.Number:
        return this.inNumber(at);
      case Now.Literal:
        return this.inLiteral(at);
      default:
        return this.between(at);
    }
  }

  /** White space and the bytes that give the text its structure. */
  private between(at: number): number {
    const byte = this.bytes[at]!;
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) return at + 1;
    switch (this.now) {
      case Now.ValueOrClose:
        if (byte === CLOSE_ARRAY) return this.close(at);
        return this.beginValue(at, byte);
      case Now.Value:
        return this.beginValue(at, byte);
      case Now.NameOrClose:
        if (byte === CLOSE_OBJECT) return this.close(at);
        return this.beginName(at, byte);
      case Now.Name:
        return this.beginName(at, byte);
      case Now.Colon:
        if (byte !== COLON) this.fail(at);
        this.now = Now.Value;
        return at + 1;
      case Now.CommaOrClose:
        if (byte === this.parts.closer) return this.close(at);
        if (byte !== COMMA) this.fail(at);
        this.now = this.parts.closer === CLOSE_ARRAY ? Now.Value : Now.Name;
        return at + 1;
      default:
        return this.fail(at);
    }
  }

  private beginValue(at: number, byte: number): number {
    this.parts.value();
    switch (byte) {
      case QUOTE:
        return this.beginString(at);
      case OPEN_OBJECT:
        this.parts.open(CLOSE_OBJECT);
        this.now = Now.NameOrClose;
        return at + 1;
      case OPEN_ARRAY:
        this.parts.open(CLOSE_ARRAY);
        this.now = Now.ValueOrClose;
        return at + 1;
      case 0x74:
        return this.beginLiteral(at, 'true');
      case 0x66:
        return this.beginLiteral(at, 'false');
      case 0x6e:
        return this.beginLiteral(at, 'null');
    }
    if (byte !== MINUS && (byte < 0x30 || byte > 0x39)) this.fail(at);
    this.number.begin(byte);
    this.now = Now.Number;
    return at + 1;
  }

  private close(at: number): number {
    this.parts.close();
    this.endValue();
    return at + 1;
  }

  private endValue(): void {
    this.now = this.parts.closer === undefined ? Now.End : Now.CommaOrClose;
  }

  private beginName(at: number, byte: number): number {
    if (byte !== QUOTE) this.fail(at);
    this.now = Now.String;
    this.role = Role.Name;
    this.nameStart = this.document.length + at + 1 - this.mark;
    return at + 1;
  }

  private beginString(at: number): number {
    const member = this.parts.partMember;
    this.now = Now.String;
    if (member === 'text') {
      this.role = Role.PartText;
      this.textBytes = 0;
      this.highSurrogate = false;
    } else if (member === 'base64') {
      this.now = Now.Content;
      this.role = Role.Content;
      this.writer = this.contents.begin(this.parts.index);
      this.decoder = new Base64Decoder(this.writer);
      this.gather(at + 1);
    }
    return at + 1;
  }

  private inString(from: number): number {
    const { bytes } = this;
    let at = this.utf8.open ? this.sequence(from) : from;
    for (; at < bytes.length;) {
      const byte = bytes[at]!;
      if (PLAIN[byte]) {
        at++;
      } else if (byte >= 0x80) {
        at = this.sequence(at);
      } else {
        this.count(at - from);
        if (byte === QUOTE) return this.endString(at);
        if (byte !== BACKSLASH) this.fail(at, 'the rest of a string, control characters being escaped');
        return this.beginEscape(at);
      }
    }
    this.count(at - from);
    return at;
  }

  /** Passes over the bytes of a character that is not ASCII. */
  private sequence(from: number): number {
    this.ascii = false;
    let at = from;
    do {
      if (!this.utf8.take(this.bytes[at]!)) this.fail(at, 'well-formed UTF-8');
      at++;
    } while (this.utf8.open && at < this.bytes.length);
    return at;
  }

  private inContent(from: number): number {
    const { bytes } = this;
    const decoder = this.decoder!;
    // Each search goes on where the last one ended, so that no byte is looked at again for every short string.
    if (this.nextQuote < from) this.nextQuote = next(bytes, QUOTE, from);
    if (this.nextBackslash < from) this.nextBackslash = next(bytes, BACKSLASH, from);
    const to = Math.min(this.nextQuote, this.nextBackslash);
    const at = decoder.decode(bytes, from, to);
    if (decoder.fault) return this.giveUpContent(at);
    if (at === bytes.length) return at;
    return bytes[at] === QUOTE ? this.endString(at) : this.beginEscape(at);
  }

  private giveUpContent(at: number): number {
    this.writer!.discard();
    this.now = Now.String;
    this.role = Role.Faulty;
    return at;
  }

  private beginEscape(at: number): number {
    this.escape.begin();
    this.now = Now.Escape;
    return at + 1;
  }

  private inEscape(at: number): number {
    const { escape } = this;
    if (!escape.take(this.bytes[at]!)) this.fail(at, escape.expected);
    if (!escape.done) return at + 1;
    this.now = Now.String;
    if (this.role === Role.Content) {
      this.now = Now.Content;
      if (!this.decoder!.put(escape.code)) this.giveUpContent(at);
    } else if (this.role === Role.PartText) {
      this.countEscaped(escape.code);
    } else {
      this.count(1);
    }
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
    if (this.textBytes > textBytes) throw limitExceeded('textBytes', textBytes, this.parts.index);
  }

  private endString(at: number): number {
    const { role } = this;
    this.role = Role.Other;
    if (role === Role.Name) {
      if (this.parts.namesMatter) this.endName(at);
      this.now = Now.Colon;
      return at + 1;
    }
    if (role === Role.Content) this.endContent();
    if (role === Role.Faulty) this.parts.add(this.decoder!.fault!);
    if (role >= Role.Content) this.mark = at;
    this.endValue();
    return at + 1;
  }

  private endName(at: number): void {
    this.gather(at);
    const short = this.document.length - this.nameStart <= LONGEST_NAME;
    const written = short ? this.document.text(this.nameStart, 'utf8') : '';
    this.parts.name(written.includes('\\') ? (JSON.parse(`"${written}"`) as string) : written);
  }

  private endContent(): void {
    const decoder = this.decoder!;
    const writer = this.writer!;
    decoder.end();
    if (decoder.fault) writer.discard();
    this.parts.add(decoder.fault ?? writer.finish());
  }

  private inNumber(from: number): number {
    const { bytes, number } = this;
    let at = from;
    while (at < bytes.length && number.take(bytes[at]!)) at++;
    if (at === bytes.length) return at;
    if (!number.complete) this.fail(at);
    this.endValue();
    return at;
  }

  private beginLiteral(at: number, literal: string): number {
    this.now = Now.Literal;
    this.literal = literal;
    this.literalAt = 1;
    return at + 1;
  }

  private inLiteral(at: number): number {
    if (this.bytes[at] !== this.literal.charCodeAt(this.literalAt)) this.fail(at);
    this.literalAt++;
    if (this.literalAt === this.literal.length) this.endValue();
    return at + 1;
  }

  private byteOrderMark(): number {
    const { bytes, offset } = this;
    if (offset > 0 && this.markBytes < offset) return 0;
    let at = 0;
    while (this.markBytes < BYTE_ORDER_MARK.length && bytes[at] === BYTE_ORDER_MARK[this.markBytes]) {
      this.markBytes++;
      at++;
    }
    if (at < bytes.length && this.markBytes % BYTE_ORDER_MARK.length !== 0)
      this.fail(at, 'well-formed UTF-8');
    return at;
  }

  private gather(to: number): void {
    this.document.append(this.bytes, this.mark, to);
    this.mark = to;
  }

  private fail(at: number, expected = this.expected()): never {
    const place = this.offset + at;
    const byte = this.bytes[at];
    if (place === 0 && byte === undefined) throw new QueryError('invalid_json', 'The body is empty.');
    const found = byte === undefined ? 'the end of the body' : shown(byte);
    throw new QueryError(
      'invalid_json',
      `The body is not JSON: at byte ${place}, expected ${expected}, found ${found}.`,
    );
  }

  private expected(): string {
    const closer = this.parts.closer === CLOSE_ARRAY ? '"]"' : '"}"';
    switch (this.now) {
      case Now.Value:
        return 'a value';
      case Now.ValueOrClose:
        return `a value or ${closer}`;
      case Now.Name:
        return 'a name in double quotes';
      case Now.NameOrClose:
        return `a name in double quotes or ${closer}`;
      case Now.Colon:
        return '":"';
      case Now.CommaOrClose:
        return `"," or ${closer}`;
      case Now.End:
        return 'nothing more';
      case Now.Literal:
        return `"${this.literal}"`;
      case Now.Number:
        return this.number.complete ? `"," or ${closer}` : 'a digit';
      case Now.Escape:
        return this.escape.expected;
      default:
        return 'the rest of a string';
    }
  }
}

function next(bytes: Buffer, byte: number, from: number): number {
  const at = bytes.indexOf(byte, from);
  return at < 0 ? bytes.length : at;
}

function shown(byte: number): string {
  if (byte === QUOTE) return 'a double quote';
  if (byte > 0x20 && byte < 0x7f) return `"${String.fromCharCode(byte)}"`;
  return `the byte 0x${byte.toString(16).padStart(2, '0').toUpperCase()}`;
}
