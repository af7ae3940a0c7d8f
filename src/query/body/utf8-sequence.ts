/** A character of two to four bytes, checked against table 3-7 of the Unicode Standard (well-formed UTF-8). */
export class Utf8Sequence {
  #remaining = 0;
  /** The range of the next byte. */
  #lowest = 0x80;
  #highest = 0xbf;

  get isOpen(): boolean {
    return this.#remaining > 0;
  }

  /** Takes the next byte of a character, or the first of one. Returns false if it is ill-formed. */
  accept(byte: number): boolean {
    if (this.#remaining === 0) return this.#lead(byte);
    if (byte < this.#lowest || byte > this.#highest) return false;
    this.#lowest = 0x80;
    this.#highest = 0xbf;
    this.#remaining--;
    return true;
  }

  #lead(byte: number): boolean {
    if (byte < 0xc2 || byte > 0xf4) return false;
    this.#remaining = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
    if (byte === 0xe0) this.#lowest = 0xa0;
    if (byte === 0xed) this.#highest = 0x9f;
    if (byte === 0xf0) this.#lowest = 0x90;
    if (byte === 0xf4) this.#highest = 0x8f;
    return true;
  }
}
