import { QueryError } from '../contract/errors.js';
import { limitExceeded } from '../contract/refusals.js';
import type { BodyContents } from '../files/body-contents.js';
import { NumberToken } from './json-number.js';
import { StringToken } from './json-string.js';
import { JsonDocument } from './json-document.js';
import { type BodyPlace, QUERY_PLACES } from './places.js';

/**
 * What the grammar of RFC 8259 allows next, in words for an error: `{closer}` stands for the bracket that closes the array or
 * object. Or the token that has begun and not ended.
 */
enum State {
  Value = 'a value',
  ValueOrClose = 'a value or "{closer}"',
  Name = 'a name in double quotes',
  NameOrClose = 'a name in double quotes or "{closer}"',
  Colon = '":"',
  CommaOrClose = '"," or "{closer}"',
  End = 'nothing more',
  InLiteral = 'literal',
  InNumber = 'number',
  InName = 'name',
  InString = 'string',
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const LITERALS = [
  { text: 'true', value: true, expected: '"true"' },
  { text: 'false', value: false, expected: '"false"' },
  { text: 'null', value: null, expected: '"null"' },
];
/** Before the first value, scanned like a literal. */
const BYTE_ORDER_MARK = { text: '\u00ef\u00bb\u00bf', value: undefined, expected: 'well-formed UTF-8' };
const EMPTY = Buffer.alloc(0);

/**
 * Reads JSON as its bytes arrive, in chunks that may be cut anywhere. It decodes the strings of files into contents, and builds the
 * rest of the document, with the outcome of `JSON.parse` for every text.
 *
 * It is our own because a file of 256 MiB is a string of the document: `JSON.parse` needs it whole in memory, and other
 * incremental parsers build each string.
 *
 * A fault of the grammar or of UTF-8 is found at its byte: QueryError `invalid_json` states the offset of the byte in the
 * body and what was expected there. A byte order mark at the beginning is ignored.
 */
export class JsonScanner {
  #state = State.Value;
  #chunk: Buffer = EMPTY;
  /** Offset in the body of the first byte of `chunk`. */
  #chunkOffset = 0;
  /** Bytes of the document so far, without those of contents. */
  #documentBytes = 0;
  readonly #document: JsonDocument;
  readonly #string: StringToken;
  readonly #number = new NumberToken();
  #literal: (typeof LITERALS)[number] | typeof BYTE_ORDER_MARK = BYTE_ORDER_MARK;
  /** How many bytes of the literal have come. */
  #literalLength = 0;

  /** @param body where the strings of files are. Default: where a query has them */
  constructor(
    private readonly contents: BodyContents,
    body: BodyPlace = QUERY_PLACES,
  ) {
    this.#string = new StringToken(contents, (index, expected) => this.#fail(index, expected));
    this.#document = new JsonDocument(contents.limits, body, (content) => contents.drop(content));
  }

  /**
   * Scans the next bytes, at most 64 KiB.
   *
   * @throws {QueryError} `invalid_json` · `limit_exceeded`; the scanner cannot be used after that
   */
  scan(chunk: Buffer): void {
    this.#chunk = chunk;
    this.#string.beginChunk();
    this.#documentBytes += chunk.length;
    let index = 0;
    if (this.#chunkOffset === 0 && chunk[0] === BYTE_ORDER_MARK.text.charCodeAt(0)) {
      this.#state = State.InLiteral;
      this.#documentBytes -= BYTE_ORDER_MARK.text.length;
    }
    while (index < chunk.length) index = this.#step(index);
    this.#chunkOffset += chunk.length;
    const { documentBytes } = this.contents.limits;
    if (this.#documentBytes > documentBytes) throw limitExceeded('documentBytes', documentBytes);
  }

  /** Ends the body, and returns the document: see `JsonDocument.end`. @throws {QueryError} `invalid_json` if something is missing */
  end(): ReturnType<JsonDocument['end']> {
    this.#chunk = EMPTY;
    // Outside of arrays and objects, a number ends with the body.
    if (this.#state === State.InNumber) this.#endNumber(0);
    if (this.#state !== State.End) this.#fail(0);
    return this.#document.end();
  }

  /** Scans from an index on: one byte or more. Returns the index of the next byte to scan. */
  #step(index: number): number {
    switch (this.#state) {
      case State.InString:
      case State.InName:
        return this.#scanString(index);
      case State.InNumber:
        return this.#scanNumber(index);
      case State.InLiteral:
        return this.#scanLiteral(index);
      default:
        return this.#scanStructure(index);
    }
  }

  /** White space, and the bytes that give the text its structure. */
  #scanStructure(index: number): number {
    const byte = this.#chunk[index]!;
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) return index + 1;
    switch (this.#state) {
      case State.ValueOrClose:
        if (byte === CLOSE_ARRAY) return this.#close(index);
        return this.#beginValue(index, byte);
      case State.Value:
        return this.#beginValue(index, byte);
      case State.NameOrClose:
        if (byte === CLOSE_OBJECT) return this.#close(index);
        return this.#beginName(index, byte);
      case State.Name:
        return this.#beginName(index, byte);
      case State.Colon:
        if (byte !== COLON) this.#fail(index);
        this.#state = State.Value;
        return index + 1;
      case State.CommaOrClose:
        if (byte === this.#closer) return this.#close(index);
        if (byte !== COMMA) this.#fail(index);
        this.#state = this.#closer === CLOSE_ARRAY ? State.Value : State.Name;
        return index + 1;
      default:
        return this.#fail(index);
    }
  }

  /** A number and a literal begin with their first byte, a string after its quote. */
  #beginValue(index: number, byte: number): number {
    this.#document.beginValue();
    switch (byte) {
      case QUOTE:
        return this.#beginString(index);
      case OPEN_OBJECT:
        this.#document.open({});
        this.#state = State.NameOrClose;
        return index + 1;
      case OPEN_ARRAY:
        this.#document.open([]);
        this.#state = State.ValueOrClose;
        return index + 1;
    }
    if (byte === MINUS || (byte >= 0x30 && byte <= 0x39)) {
      this.#number.begin();
      this.#state = State.InNumber;
      return index;
    }
    const literal = LITERALS.find(({ text }) => text.charCodeAt(0) === byte);
    if (!literal) this.#fail(index);
    this.#literal = literal;
    this.#literalLength = 0;
    this.#state = State.InLiteral;
    return index;
  }

  #close(index: number): number {
    this.#document.close();
    this.#endValue();
    return index + 1;
  }

  #endValue(): void {
    this.#state = this.#closer === undefined ? State.End : State.CommaOrClose;
  }

  #beginName(index: number, byte: number): number {
    if (byte !== QUOTE) this.#fail(index);
    this.#string.begin();
    this.#state = State.InName;
    return index + 1;
  }

  #beginString(index: number): number {
    const kind = this.#document.place?.kind;
    if (kind) this.#string.begin(kind, this.#document.pointer);
    else this.#string.begin();
    this.#state = State.InString;
    return index + 1;
  }

  #scanString(from: number): number {
    const chunk = this.#chunk;
    const string = this.#string;
    const index = string.scan(chunk, from);
    // Of a content, the document has the two quotes.
    if (string.isContent) this.#documentBytes -= index - from;
    if (index === chunk.length) return index;
    if (this.#state === State.InName) {
      this.#document.name(string.end() as string);
      this.#state = State.Colon;
    } else {
      this.#document.add(string.end());
      this.#endValue();
    }
    return index + 1;
  }

  #scanNumber(from: number): number {
    const index = this.#number.scan(this.#chunk, from);
    if (index < this.#chunk.length) this.#endNumber(index);
    return index;
  }

  #endNumber(index: number): void {
    if (!this.#number.isComplete) this.#fail(index);
    this.#document.add(this.#number.value);
    this.#endValue();
  }

  #scanLiteral(index: number): number {
    const { text, value } = this.#literal;
    if (this.#chunk[index] !== text.charCodeAt(this.#literalLength)) this.#fail(index);
    this.#literalLength++;
    if (this.#literalLength < text.length) return index + 1;
    if (value === undefined) {
      this.#state = State.Value;
    } else {
      this.#document.add(value);
      this.#endValue();
    }
    return index + 1;
  }

  /** The byte that closes the innermost array or object; undefined outside of all. */
  get #closer(): number | undefined {
    const { container } = this.#document;
    if (container === undefined) return undefined;
    return Array.isArray(container) ? CLOSE_ARRAY : CLOSE_OBJECT;
  }

  /** The body is not JSON: at this index of the chunk, which is its end if something is missing there. */
  #fail(index: number, expected = this.#expected()): never {
    const offset = this.#chunkOffset + index;
    const byte = this.#chunk[index];
    if (offset === 0 && byte === undefined) throw new QueryError('invalid_json', 'The body is empty.');
    const found = byte === undefined ? 'the end of the body' : shown(byte);
    const detail = `The body is not JSON: at byte ${offset}, expected ${expected}, found ${found}.`;
    throw new QueryError('invalid_json', detail);
  }

  #expected(): string {
    switch (this.#state) {
      case State.InLiteral:
        return this.#literal.expected;
      case State.InNumber:
        return 'a digit';
      case State.InName:
      case State.InString:
        return this.#string.expected;
      default:
        return this.#state.replace('{closer}', String.fromCharCode(this.#closer ?? 0));
    }
  }
}

function shown(byte: number): string {
  if (byte === QUOTE) return 'a double quote';
  if (byte > 0x20 && byte < 0x7f) return `"${String.fromCharCode(byte)}"`;
  return `the byte 0x${byte.toString(16).padStart(2, '0').toUpperCase()}`;
}
