import { limitExceeded } from '../contract/refusals.js';

const EMPTY = Buffer.alloc(0);

/** Gathers the JSON text of a body without the contents of its files. */
export class DocumentBytes {
  /** Bytes gathered so far. */
  length = 0;
  private buffer: Buffer = EMPTY;
  /** Index in `buffer` of the first gathered byte. */
  private start = 0;
  /** True while `buffer` is the caller's own: a body that comes as one piece is never copied. */
  private borrowed = true;

  /** @param limit the limit `documentBytes` */
  constructor(private readonly limit: number) {}

  /**
   * Adds `bytes[from..to)`. They must not change until the next call.
   *
   * @throws {QueryError} `limit_exceeded`
   */
  append(bytes: Buffer, from: number, to: number): void {
    const length = this.length + to - from;
    if (length > this.limit) throw limitExceeded('documentBytes', this.limit);
    if (this.length === 0) {
      this.buffer = bytes;
      this.start = from;
    } else if (!this.borrowed || bytes !== this.buffer || from !== this.start + this.length) {
      this.ensureCapacity(length);
      bytes.copy(this.buffer, this.length, from, to);
    }
    this.length = length;
  }

  /**
   * The gathered bytes as text.
   *
   * @param from offset of the first byte
   * @param encoding `latin1` is faster, and correct if all bytes are ASCII
   */
  text(from: number, encoding: 'latin1' | 'utf8'): string {
    return this.buffer.toString(encoding, this.start + from, this.start + this.length);
  }

  private ensureCapacity(capacity: number): void {
    if (!this.borrowed && capacity <= this.buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(capacity, 2 * this.length));
    this.buffer.copy(grown, 0, this.start, this.start + this.length);
    this.buffer = grown;
    this.start = 0;
    this.borrowed = false;
  }
}
