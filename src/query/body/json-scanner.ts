import { QueryError } from '../contract/errors.js';
import type { Contents, FileContent } from '../files/contents.js';
import { DocumentBytes } from './document-bytes.js';
import { Role, StringToken } from './json-string.js';
import { NumberToken } from './json-tokens.js';
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
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];
/** Bytes of the longest way to write a name that matters: six characters, each as `\u0000`. */
const LONGEST_NAME = 36;

const ROLES = { text: Role.PartText, base64: Role.Content, other: Role.Other };

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
  /** Bytes of the body before those being scanned. */
  private offset = 0;
  private bytes: Buffer = NOTHING;
  /** Where in `bytes` that begins which is not gathered yet. */
  private mark = 0;
  private nameStart = 0;
  private markBytes = 0;
  private literal = '';
  private literalAt = 0;
  private readonly document: DocumentBytes;
  private readonly parts: PartContents;
  private readonly string: StringToken;
  private readonly number = new NumberToken();

  constructor(contents: Contents) {
    this.string = new StringToken(contents, (at, expected) => this.fail(at, expected));
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
    this.string.nextBytes();
    let at = this.offset < BYTE_ORDER_MARK.length ? this.byteOrderMark() : 0;
    this.mark = at;
    while (at < bytes.length) at = this.step(at);
    if (!this.string.apart) this.gather(bytes.length);
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
    const value: unknown = JSON.parse(this.document.text(0, this.string.ascii ? 'latin1' : 'utf8'));
    return { value, contents: this.parts.putInto(value) };
  }

  private step(at: number): number {
    switch (this.now) {
      case Now.String:
        return this.inString(at);
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
    this.nameStart = this.document.length + at + 1 - this.mark;
    this.now = Now.String;
    this.string.begin(Role.Name, -1);
    return at + 1;
  }

  private beginString(at: number): number {
    const { partMember, index } = this.parts;
    this.now = Now.String;
    if (partMember === 'base64') this.gather(at + 1);
    this.string.begin(ROLES[partMember ?? 'other'], index);
    return at + 1;
  }

  private inString(from: number): number {
    const { string } = this;
    const at = string.take(this.bytes, from);
    if (at === this.bytes.length) return at;
    // What was decoded is left out of the document, where the two quotes remain.
    if (string.apart) this.mark = at;
    const isName = string.role === Role.Name;
    const content = string.end();
    if (content) this.parts.add(content);
    if (isName && this.parts.namesMatter) this.endName(at);
    if (isName) this.now = Now.Colon;
    else this.endValue();
    return at + 1;
  }

  private endName(at: number): void {
    this.gather(at);
    const short = this.document.length - this.nameStart <= LONGEST_NAME;
    const written = short ? this.document.text(this.nameStart, 'utf8') : '';
    this.parts.name(written.includes('\\') ? (JSON.parse(`"${written}"`) as string) : written);
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
      case Now.String:
        return this.string.expected;
    }
  }
}

function shown(byte: number): string {
  if (byte === QUOTE) return 'a double quote';
  if (byte > 0x20 && byte < 0x7f) return `"${String.fromCharCode(byte)}"`;
  return `the byte 0x${byte.toString(16).padStart(2, '0').toUpperCase()}`;
}
