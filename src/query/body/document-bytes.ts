import { limitExceeded } from './limits.js';

const NOTHING = Buffer.alloc(0);

/** Gathers the JSON text without the contents of files. */
export class DocumentBytes {
  /** Bytes gathered. */
  length = 0;
  private buffer: Buffer = NOTHING;
  private start = 0;
  /** A body that comes as one piece is never copied: its own buffer serves until a second piece comes. */
  private borrowed = true;

  /** @param limit the most bytes that may be gathered */
  constructor(private readonly limit: number) {}

  /** Adds `bytes[from..to)`, which must not change until the next call. Throws QueryError `limit_exceeded`. */
  append(bytes: Buffer, from: number, to: number): void {
    const length = this.length + to - from;
    if (length > this.limit) throw limitExceeded('documentBytes', this.limit);
    if (this.length === 0) {
      this.buffer = bytes;
      this.start = from;
    } else if (!this.borrowed || bytes !== this.buffer || from !== this.start + this.length) {
      this.own(length);
      bytes.copy(this.buffer, this.length, from, to);
    }
    this.length = length;
  }

  /** The gathered bytes from `from` on as text; `latin1` where all of them are ASCII, as it is the quicker way. */
  text(from: number, encoding: 'latin1' | 'utf8'): string {
    return this.buffer.toString(encoding, this.start + from, this.start + this.length);
  }

  private own(capacity: number): void {
    if (!this.borrowed && capacity <= this.buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(capacity, 2 * this.length));
    this.buffer.copy(grown, 0, this.start, this.start + this.length);
    this.buffer = grown;
    this.start = 0;
    this.borrowed = false;
  }
}
