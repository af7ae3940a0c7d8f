import type { FileSource } from '../file-source.js';

/** Bytes that are read at once. */
const WINDOW = 256 * 1024;

/** Reads small ranges of a file that mostly follow one another, with few requests. */
export class ReadAhead {
  #start = 0;
  #window: Uint8Array = new Uint8Array();

  constructor(private readonly file: FileSource) {}

  /** The bytes from offset `start` up to, not including, `end`. */
  async read(start: number, end: number): Promise<Uint8Array> {
    if (start < this.#start || end > this.#start + this.#window.length) {
      this.#window = await this.file.read(start, Math.min(this.file.size, Math.max(end, start + WINDOW)));
      this.#start = start;
    }
    return this.#window.subarray(start - this.#start, end - this.#start);
  }
}
