/** The latest part of a number (RFC 8259 §6). From `Zero` on, the number may end after it. */
enum Part {
  Start,
  Minus,
  Point,
  E,
  Sign,
  Zero,
  Integer,
  Fraction,
  Exponent,
}

/** The part that a byte begins or continues, by the part before it and the byte; 0 if the byte cannot come there. */
const NEXT = new Uint8Array(256 * (Part.Exponent + 1));
const DIGITS = '0123456789';

allow([Part.Start], '-', Part.Minus);
allow([Part.Start, Part.Minus], '0', Part.Zero);
allow([Part.Start, Part.Minus], '123456789', Part.Integer);
allow([Part.Integer], DIGITS, Part.Integer);
allow([Part.Zero, Part.Integer], '.', Part.Point);
allow([Part.Point, Part.Fraction], DIGITS, Part.Fraction);
allow([Part.Zero, Part.Integer, Part.Fraction], 'eE', Part.E);
allow([Part.E], '+-', Part.Sign);
allow([Part.E, Part.Sign, Part.Exponent], DIGITS, Part.Exponent);

function allow(after: Part[], characters: string, next: Part): void {
  for (const part of after)
    for (const character of characters) NEXT[256 * part + character.charCodeAt(0)] = next;
}

export class NumberToken {
  #part = Part.Start;
  #text = '';

  begin(): void {
    this.#part = Part.Start;
    this.#text = '';
  }

  /** Scans from an index of the chunk on. Returns the index of the first byte that the number cannot contain there. */
  scan(bytes: Buffer, from: number): number {
    let index = from;
    while (index < bytes.length) {
      const next = NEXT[256 * this.#part + bytes[index]!]!;
      if (next === 0) break;
      this.#part = next;
      index++;
    }
    this.#text += bytes.toString('latin1', from, index);
    return index;
  }

  /** True if the number may end here. */
  get isComplete(): boolean {
    return this.#part >= Part.Zero;
  }

  get value(): number {
    return Number(this.#text);
  }
}
