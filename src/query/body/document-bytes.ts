import { isAscii } from 'node:buffer';
import { limitExceeded } from './limits.js';

/** Gathers the JSON text without the contents of files. */
export class DocumentBytes {
  /** Bytes gathered. */
  length = 0;
  private buffer: Buffer | undefined;

  /** @param limit the most bytes that may be gathered */
  constructor(private readonly limit: number) {}

  /** Adds `bytes[from..to)`. Throws QueryError `limit_exceeded`. */
  append(bytes: Buffer, from: number, to: number): void {
    const length = this.length + to - from;
    if (length > this.limit) throw limitExceeded('documentBytes', this.limit);
    if (this.buffer === undefined) {
      this.buffer = Buffer.allocUnsafe(length);
    } else if (length > this.buffer.length) {
      const grown = Buffer.allocUnsafe(Math.max(length, 2 * this.buffer.length));
      this.buffer.copy(grown, 0, 0, this.length);
      this.buffer = grown;
    }
    bytes.copy(this.buffer, this.length, from, to);
    this.length = length;
  }

  /** The gathered bytes from `from` on as text. */
  text(from = 0): string {
    if (this.buffer === undefined) return '';
    const bytes = this.buffer.subarray(from, this.length);
    return bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8');
  }
}
