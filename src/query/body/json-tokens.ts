/** The parts of a JSON text that a chunk border may cut: numbers, UTF-8 sequences, escapes. */

const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;

/** What of a number has come. */
enum Came {
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
  private state = Came.Minus;

  /** Begins with a byte that was found to be a minus sign or a digit. */
  begin(byte: number): void {
    this.state = Came.Minus;
    if (byte >= DIGIT_0) this.take(byte);
  }

  /** True where the number may end here. */
  get complete(): boolean {
    const { state } = this;
    return (
      state === Came.Integer || state === Came.Zero || state === Came.Fraction || state === Came.Exponent
    );
  }

  /** Takes the byte if the number may go on with it. */
  take(byte: number): boolean {
    const next = this.after(byte);
    if (next === undefined) return false;
    this.state = next;
    return true;
  }

  private after(byte: number): Came | undefined {
    const { state } = this;
    if (byte >= DIGIT_0 && byte <= DIGIT_9) {
      if (state === Came.Minus) return byte === DIGIT_0 ? Came.Zero : Came.Integer;
      if (state === Came.Zero) return undefined;
      if (state === Came.Integer) return state;
      return state <= Came.Fraction ? Came.Fraction : Came.Exponent;
    }
    switch (byte) {
      case 0x2e:
        return state === Came.Zero || state === Came.Integer ? Came.Point : undefined;
      case 0x45:
      case 0x65:
        return state !== Came.Exponent && this.complete ? Came.E : undefined;
      case 0x2b:
      case 0x2d:
        return state === Came.E ? Came.ExponentSign : undefined;
      default:
        return undefined;
    }
  }
}

/** A character of two to four bytes, held against table 3-7 of the Unicode Standard (well-formed UTF-8). */
export class Utf8Sequence {
  private due = 0;
  private lowest = 0x80;
  private highest = 0xbf;

  /** True inside a character. */
  get open(): boolean {
    return this.due > 0;
  }

  /** Takes the next byte of a character, or the first of one. Returns false where it is ill-formed. */
  take(byte: number): boolean {
    if (this.due === 0) return this.lead(byte);
    if (byte < this.lowest || byte > this.highest) return false;
    this.lowest = 0x80;
    this.highest = 0xbf;
    this.due--;
    return true;
  }

  private lead(byte: number): boolean {
    if (byte < 0xc2 || byte > 0xf4) return false;
    this.due = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
    if (byte === 0xe0) this.lowest = 0xa0;
    if (byte === 0xed) this.highest = 0x9f;
    if (byte === 0xf0) this.lowest = 0x90;
    if (byte === 0xf4) this.highest = 0x8f;
    return true;
  }
}

/** The code that each letter after a backslash stands for, 0 for none; `\u` is apart. */
const LETTERS = new Uint8Array(256);
const MEANINGS = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
for (const [letter, meaning] of Object.entries(MEANINGS))
  LETTERS[letter.charCodeAt(0)] = meaning.charCodeAt(0);
const UNICODE = 'u'.charCodeAt(0);

const NO_DIGIT = 16;
const DIGITS = new Uint8Array(256).fill(NO_DIGIT);
for (const digit of '0123456789abcdefABCDEF') DIGITS[digit.charCodeAt(0)] = parseInt(digit, 16);

/** An escape (RFC 8259 §7), byte by byte after its backslash. */
export class EscapeToken {
  /** The UTF-16 code unit that the escape stands for, once it is `done`. */
  code = 0;
  done = false;
  private digits = 0;

  begin(): void {
    this.code = 0;
    this.done = false;
    this.digits = -1;
  }

  /** What may come next, for an error. */
  get expected(): string {
    return this.digits < 0 ? 'one of " \\ / b f n r t u after a backslash' : 'a hexadecimal digit';
  }

  /** Returns false where the byte cannot come next. */
  take(byte: number): boolean {
    if (this.digits >= 0) return this.digit(byte);
    if (byte === UNICODE) {
      this.digits = 0;
      return true;
    }
    this.code = LETTERS[byte]!;
    this.done = this.code !== 0;
    return this.done;
  }

  private digit(byte: number): boolean {
    const value = DIGITS[byte]!;
    if (value === NO_DIGIT) return false;
    this.code = this.code * 16 + value;
    this.done = ++this.digits === 4;
    return true;
  }
}
