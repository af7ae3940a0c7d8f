/** The parts of a JSON text that the border between two chunks may cut: numbers, literals, UTF-8 sequences, escapes. */

const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const POINT = 0x2e;
const UPPER_E = 0x45;
const LOWER_E = 0x65;
const PLUS = 0x2b;
const MINUS = 0x2d;

/** The last part of a number that has come. */
enum NumberState {
  Minus,
  Zero,
  Integer,
  Point,
  Fraction,
  E,
  ExponentSign,
  Exponent,
}

/** A number (RFC 8259 §6), byte by byte. */
export class NumberToken {
  private state = NumberState.Minus;

  /** @param byte a minus sign or a digit */
  begin(byte: number): void {
    this.state = NumberState.Minus;
    if (byte >= DIGIT_0) this.accept(byte);
  }

  /** True if the number may end here. */
  get complete(): boolean {
    const { state } = this;
    return (
      state === NumberState.Integer ||
      state === NumberState.Zero ||
      state === NumberState.Fraction ||
      state === NumberState.Exponent
    );
  }

  /** Adds the byte to the number. Returns false, and changes nothing, if the number cannot contain it here. */
  accept(byte: number): boolean {
    const next = this.stateAfter(byte);
    if (next === undefined) return false;
    this.state = next;
    return true;
  }

  private stateAfter(byte: number): NumberState | undefined {
    const { state } = this;
    if (byte >= DIGIT_0 && byte <= DIGIT_9) {
      if (state === NumberState.Minus) return byte === DIGIT_0 ? NumberState.Zero : NumberState.Integer;
      if (state === NumberState.Zero) return undefined;
      if (state === NumberState.Integer) return state;
      return state <= NumberState.Fraction ? NumberState.Fraction : NumberState.Exponent;
    }
    switch (byte) {
      case POINT:
        return state === NumberState.Zero || state === NumberState.Integer ? NumberState.Point : undefined;
      case UPPER_E:
      case LOWER_E:
        return state !== NumberState.Exponent && this.complete ? NumberState.E : undefined;
      case PLUS:
      case MINUS:
        return state === NumberState.E ? NumberState.ExponentSign : undefined;
      default:
        return undefined;
    }
  }
}

/** One of `true`, `false` and `null` (RFC 8259 §3), byte by byte. */
export class LiteralToken {
  text: 'true' | 'false' | 'null' = 'null';
  private length = 0;

  /** Begins with the first byte of the literal. */
  begin(text: 'true' | 'false' | 'null'): void {
    this.text = text;
    this.length = 1;
  }

  get complete(): boolean {
    return this.length === this.text.length;
  }

  /** Returns false if the byte is not the next one of the literal. */
  accept(byte: number): boolean {
    return byte === this.text.charCodeAt(this.length++);
  }
}

/** A character of two to four bytes, checked against table 3-7 of the Unicode Standard (well-formed UTF-8). */
export class Utf8Sequence {
  private remaining = 0;
  /** The range of the next byte. */
  private lowest = 0x80;
  private highest = 0xbf;

  /** True inside a character. */
  get open(): boolean {
    return this.remaining > 0;
  }

  /** Takes the next byte of a character, or the first of one. Returns false if it is ill-formed. */
  accept(byte: number): boolean {
    if (this.remaining === 0) return this.lead(byte);
    if (byte < this.lowest || byte > this.highest) return false;
    this.lowest = 0x80;
    this.highest = 0xbf;
    this.remaining--;
    return true;
  }

  private lead(byte: number): boolean {
    if (byte < 0xc2 || byte > 0xf4) return false;
    this.remaining = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
    if (byte === 0xe0) this.lowest = 0xa0;
    if (byte === 0xed) this.highest = 0x9f;
    if (byte === 0xf0) this.lowest = 0x90;
    if (byte === 0xf4) this.highest = 0x8f;
    return true;
  }
}

/** The code unit that each letter after a backslash stands for; 0 for none, and for `u`. */
const ESCAPE_CODES = new Uint8Array(256);
const ESCAPES = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
for (const [letter, meaning] of Object.entries(ESCAPES))
  ESCAPE_CODES[letter.charCodeAt(0)] = meaning.charCodeAt(0);
const UNICODE = 'u'.charCodeAt(0);

const NO_DIGIT = 16;
const HEX_DIGITS = new Uint8Array(256).fill(NO_DIGIT);
for (const digit of '0123456789abcdefABCDEF') HEX_DIGITS[digit.charCodeAt(0)] = parseInt(digit, 16);

/** An escape (RFC 8259 §7), byte by byte after its backslash. */
export class EscapeToken {
  /** The UTF-16 code unit that the escape stands for, once it is `complete`. */
  code = 0;
  complete = false;
  /** Hexadecimal digits that have come after `\u`; -1 before the first byte. */
  private digits = -1;

  begin(): void {
    this.code = 0;
    this.complete = false;
    this.digits = -1;
  }

  /** What may come next, for an error. */
  get expected(): string {
    return this.digits < 0 ? 'one of " \\ / b f n r t u after a backslash' : 'a hexadecimal digit';
  }

  /** Returns false if the byte cannot come next. */
  accept(byte: number): boolean {
    if (this.digits >= 0) return this.acceptDigit(byte);
    if (byte === UNICODE) {
      this.digits = 0;
      return true;
    }
    this.code = ESCAPE_CODES[byte]!;
    this.complete = this.code !== 0;
    return this.complete;
  }

  private acceptDigit(byte: number): boolean {
    const value = HEX_DIGITS[byte]!;
    if (value === NO_DIGIT) return false;
    this.code = this.code * 16 + value;
    this.complete = ++this.digits === 4;
    return true;
  }
}
