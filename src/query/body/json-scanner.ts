import type { FileContent } from '../files/content.js';
import type { BodyContents } from '../files/body-contents.js';
import { limitExceeded } from '../contract/refusals.js';
import { DocumentBuilder, TokenText } from './document-builder.js';
import { Role, StringToken } from './json-string.js';
import { expectedIn, State, syntaxError } from './json-syntax-error.js';
import { LiteralToken, NumberToken } from './json-tokens.js';
import type { BodyLimits } from '../options/table.js';
import { PartContents } from './part-contents.js';

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const LOWER_F = 0x66;
const LOWER_N = 0x6e;
const LOWER_T = 0x74;

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];
const ROLES = { text: Role.PartText, base64: Role.Content, other: Role.Other };
const LITERALS = { true: true, false: false, null: null };
const EMPTY = Buffer.alloc(0);

/**
 * Reads a query's JSON as its bytes arrive, in chunks that may be cut anywhere. It decodes the `base64` of parts into contents,
 * and builds the rest of the document, with the outcome of `JSON.parse` for every text.
 *
 * A fault of the grammar or of UTF-8 is found at its byte: QueryError `invalid_json` states the offset of the byte in the
 * body and what was expected there. A byte order mark at the beginning is ignored.
 */
export class JsonScanner {
  private state = State.Value;
  private chunk: Buffer = EMPTY;
  /** Offset in the body of the first byte of `chunk`. */
  private chunkOffset = 0;
  /** Bytes of the document so far, without those of contents. */
  private documentBytes = 0;
  /** Index in `chunk` of the first byte that `documentBytes` does not count yet. */
  private uncounted = 0;
  /** Index in `chunk` of the first byte of the string or number that has begun. */
  private tokenStart = 0;
  private byteOrderMarkBytes = 0;
  private readonly limits: BodyLimits;
  private readonly document = new DocumentBuilder();
  private readonly text = new TokenText();
  private readonly parts: PartContents;
  private readonly string: StringToken;
  private readonly number = new NumberToken();
  private readonly literal = new LiteralToken();

  constructor(contents: BodyContents) {
    this.string = new StringToken(contents, (index, expected) => this.fail(index, expected));
    this.limits = contents.limits;
    this.parts = new PartContents(contents.limits, (content) => contents.drop(content));
  }

  /**
   * Scans the next bytes, at most 64 KiB.
   *
   * @throws {QueryError} `invalid_json` · `limit_exceeded`; the scanner cannot be used after that
   */
  scan(chunk: Buffer): void {
    this.chunk = chunk;
    this.string.beginChunk();
    let index = this.chunkOffset < BYTE_ORDER_MARK.length ? this.skipByteOrderMark() : 0;
    this.uncounted = index;
    this.tokenStart = index;
    while (index < chunk.length) index = this.step(index);
    if (!this.string.leftOut) this.count(chunk.length);
    this.appendToken(chunk.length);
    this.chunkOffset += chunk.length;
  }

  /**
   * Ends the body.
   *
   * @returns the document with its contents in their places, and those contents
   * @throws {QueryError} `invalid_json` if something is missing
   */
  end(): { value: unknown; contents: FileContent[] } {
    const complete = this.state === State.End || (this.state === State.Number && this.number.complete);
    if (!complete || this.parts.closer !== undefined) {
      this.chunk = EMPTY;
      this.fail(0);
    }
    if (this.state === State.Number) this.document.add(Number(this.text.take()));
    const { value } = this.document;
    return { value, contents: this.parts.insertInto(value) };
  }

  /** Scans from an index on: one byte or more. Returns the index of the next byte to scan. */
  private step(index: number): number {
    switch (this.state) {
      case State.String:
        return this.scanString(index);
      case State.Number:
        return this.scanNumber(index);
      case State.Literal:
        return this.scanLiteral(index);
      default:
        return this.scanStructure(index);
    }
  }

  /** White space, and the bytes that give the text its structure. */
  private scanStructure(index: number): number {
    const byte = this.chunk[index]!;
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) return index + 1;
    switch (this.state) {
      case State.ValueOrClose:
        if (byte === CLOSE_ARRAY) return this.close(index);
        return this.beginValue(index, byte);
      case State.Value:
        return this.beginValue(index, byte);
      case State.NameOrClose:
        if (byte === CLOSE_OBJECT) return this.close(index);
        return this.beginName(index, byte);
      case State.Name:
        return this.beginName(index, byte);
      case State.Colon:
        if (byte !== COLON) this.fail(index);
        this.state = State.Value;
        return index + 1;
      case State.CommaOrClose:
        if (byte === this.parts.closer) return this.close(index);
        if (byte !== COMMA) this.fail(index);
        this.state = this.parts.closer === CLOSE_ARRAY ? State.Value : State.Name;
        return index + 1;
      default:
        return this.fail(index);
    }
  }

  private beginValue(index: number, byte: number): number {
    this.parts.beginValue();
    switch (byte) {
      case QUOTE:
        return this.beginString(index);
      case OPEN_OBJECT:
        this.parts.open(CLOSE_OBJECT);
        this.document.open({});
        this.state = State.NameOrClose;
        return index + 1;
      case OPEN_ARRAY:
        this.parts.open(CLOSE_ARRAY);
        this.document.open([]);
        this.state = State.ValueOrClose;
        return index + 1;
      case LOWER_T:
        return this.beginLiteral(index, 'true');
      case LOWER_F:
        return this.beginLiteral(index, 'false');
      case LOWER_N:
        return this.beginLiteral(index, 'null');
    }
    if (byte !== MINUS && (byte < 0x30 || byte > 0x39)) this.fail(index);
    this.number.begin(byte);
    this.tokenStart = index;
    this.state = State.Number;
    return index + 1;
  }

  private close(index: number): number {
    this.parts.close();
    this.document.close();
    this.endValue();
    return index + 1;
  }

  private endValue(): void {
    this.state = this.parts.closer === undefined ? State.End : State.CommaOrClose;
  }

  private beginName(index: number, byte: number): number {
    if (byte !== QUOTE) this.fail(index);
    this.tokenStart = index + 1;
    this.state = State.String;
    this.string.begin(Role.Name, -1);
    return index + 1;
  }

  private beginString(index: number): number {
    const { partMember, partIndex } = this.parts;
    this.tokenStart = index + 1;
    this.state = State.String;
    if (partMember === 'base64') this.count(index + 1);
    this.string.begin(ROLES[partMember ?? 'other'], partIndex);
    return index + 1;
  }

  private scanString(from: number): number {
    const { string } = this;
    const index = string.scan(this.chunk, from);
    if (index === this.chunk.length) return index;
    // Of a content, the document has the two quotes.
    if (string.leftOut) this.uncounted = index;
    this.appendToken(index);
    const text = this.text.take();
    if (string.role === Role.Name) this.endName(text);
    else this.endString(text);
    return index + 1;
  }

  private endName(name: string): void {
    this.string.end();
    if (this.parts.namesMatter) this.parts.beginMember(name);
    this.document.name(name);
    this.state = State.Colon;
  }

  private endString(text: string): void {
    const content = this.string.end();
    if (content) this.parts.set(content);
    this.document.add(text);
    this.endValue();
  }

  private scanNumber(from: number): number {
    const { chunk, number } = this;
    let index = from;
    while (index < chunk.length && number.accept(chunk[index]!)) index++;
    if (index === chunk.length) return index;
    if (!number.complete) this.fail(index);
    this.endNumber(index);
    return index;
  }

  private endNumber(index: number): void {
    this.appendToken(index);
    this.document.add(Number(this.text.take()));
    this.endValue();
  }

  private beginLiteral(index: number, text: LiteralToken['text']): number {
    this.state = State.Literal;
    this.literal.begin(text);
    return index + 1;
  }

  private scanLiteral(index: number): number {
    if (!this.literal.accept(this.chunk[index]!)) this.fail(index);
    if (!this.literal.complete) return index + 1;
    this.document.add(LITERALS[this.literal.text]);
    this.endValue();
    return index + 1;
  }

  /** Returns the index of the first byte of the chunk after a byte order mark, which may be cut. */
  private skipByteOrderMark(): number {
    const { chunk, chunkOffset } = this;
    if (this.byteOrderMarkBytes < chunkOffset) return 0;
    let index = 0;
    while (chunk[index] === BYTE_ORDER_MARK[this.byteOrderMarkBytes] && index < chunk.length) {
      this.byteOrderMarkBytes++;
      index++;
    }
    const isCut = this.byteOrderMarkBytes % BYTE_ORDER_MARK.length !== 0;
    if (index < chunk.length && isCut) this.fail(index, 'well-formed UTF-8');
    return index;
  }

  /** Adds the bytes of the chunk before an index to the text of the string or number that has begun, if the document has it. */
  private appendToken(to: number): void {
    const { chunk, string, tokenStart } = this;
    if ((this.state !== State.String && this.state !== State.Number) || string.leftOut) return;
    this.text.append(chunk, tokenStart, to, string.ascii, string.escaped, string.isEscaping);
    string.escaped = string.isEscaping;
  }

  /** Counts the bytes of the chunk before an index as bytes of the document. */
  private count(to: number): void {
    const { documentBytes } = this.limits;
    this.documentBytes += to - this.uncounted;
    this.uncounted = to;
    if (this.documentBytes > documentBytes) throw limitExceeded('documentBytes', documentBytes);
  }

  private fail(index: number, expected = this.expected()): never {
    throw syntaxError(this.chunkOffset + index, expected, this.chunk[index]);
  }

  private expected(): string {
    const { state } = this;
    const { closer } = this.parts;
    switch (state) {
      case State.Literal:
        return `"${this.literal.text}"`;
      case State.Number:
        return this.number.complete ? expectedIn(State.CommaOrClose, closer) : 'a digit';
      case State.String:
        return this.string.expected;
      default:
        return expectedIn(state, closer);
    }
  }
}
