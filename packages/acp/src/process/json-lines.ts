import { Buffer } from 'node:buffer';

const NEWLINE = 0x0a;

/** Cuts bytes into lines. */
export class JsonLines {
  #parts: Buffer[] = [];
  #length = 0;

  /** @param lineLength the most bytes of a line */
  constructor(private readonly lineLength: number) {}

  /**
   * Hands over each line that is complete, one after the other, without its end. Bytes that are not UTF-8 become U+FFFD.
   *
   * @throws {RangeError} a line is too long, also one whose end has not arrived. Nothing of it is kept
   */
  add(bytes: Buffer, onLine: (line: string) => void): void {
    let from = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
      const line = this.#completed(bytes, from, end);
      from = end + 1;
      onLine(line);
    }
    if (from < bytes.length) this.#keep(bytes.subarray(from));
  }

  #completed(bytes: Buffer, from: number, end: number): string {
    // Most lines are complete in the bytes that have arrived: these are not copied.
    if (this.#length === 0 && end - from <= this.lineLength) return bytes.toString('utf8', from, end);
    this.#keep(bytes.subarray(from, end));
    const line = Buffer.concat(this.#parts).toString('utf8');
    this.#parts = [];
    this.#length = 0;
    return line;
  }

  #keep(part: Buffer): void {
    this.#length += part.length;
    this.#parts.push(part);
    if (this.#length <= this.lineLength) return;
    this.#parts = [];
    this.#length = 0;
    throw new RangeError(`The agent wrote a line of more than ${this.lineLength} bytes.`);
  }
}
