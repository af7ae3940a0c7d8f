import { Buffer } from 'node:buffer';

const NEWLINE = 0x0a;

/** Cuts bytes into lines. */
export class JsonLines {
  #parts: Buffer[] = [];
  #length = 0;

  /** @param lineLength the most bytes of a line */
  constructor(private readonly lineLength: number) {}

  /**
   * Hands over each line that is complete, one after the other.
   *
   * @throws {RangeError} a line is too long
   */
  add(bytes: Buffer, onLine: (line: string) => void): void {
    let from = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
      this.#keep(bytes.subarray(from, end));
      const line = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
      this.#parts = [];
      this.#length = 0;
      from = end + 1;
      onLine(line.toString('utf8'));
    }
    if (from < bytes.length) this.#keep(bytes.subarray(from));
  }

  #keep(part: Buffer): void {
    this.#length += part.length;
    if (this.#length > this.lineLength)
      throw new RangeError(`The agent wrote a line of more than ${this.lineLength} bytes.`);
    this.#parts.push(part);
  }
}
