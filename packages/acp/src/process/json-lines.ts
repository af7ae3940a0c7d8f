import type { Buffer } from 'node:buffer';
import { StringDecoder } from 'node:string_decoder';

/** Cuts bytes into lines. */
export class JsonLines {
  readonly #decoder = new StringDecoder('utf8');
  /** The beginning of a line whose end has not arrived. */
  #parts: string[] = [];
  #length = 0;

  /** @param lineLength the most characters (UTF-16 code units) of a line */
  constructor(private readonly lineLength: number) {}

  /**
   * Hands over each line that is complete, one after the other, without its end. Bytes that are not UTF-8 become U+FFFD.
   *
   * @throws {RangeError} a line is too long, also one whose end has not arrived. Nothing of it is kept
   */
  add(bytes: Buffer, onLine: (line: string) => void): void {
    // To decode all lines at once takes a fraction of the time that each alone would take.
    const text = this.#decoder.write(bytes);
    let from = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      const line = this.#completed(text.slice(from, end));
      from = end + 1;
      onLine(line);
    }
    if (from < text.length) this.#keep(text.slice(from));
  }

  #completed(part: string): string {
    if (this.#parts.length === 0 && part.length <= this.lineLength) return part;
    this.#keep(part);
    const line = this.#parts.join('');
    this.#parts = [];
    this.#length = 0;
    return line;
  }

  #keep(part: string): void {
    this.#length += part.length;
    this.#parts.push(part);
    if (this.#length <= this.lineLength) return;
    this.#parts = [];
    this.#length = 0;
    throw new RangeError(`The agent wrote a line of more than ${this.lineLength} characters.`);
  }
}
