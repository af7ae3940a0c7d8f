import { createHash, type Hash } from 'node:crypto';
import { FileContent } from './content.js';
import type { SpoolWrites } from './spool-writes.js';
import type { SpoolFile } from './spool.js';

const EMPTY = Buffer.alloc(0);

/** What all contents of one body share, as a writer needs it. */
export interface WriterContext {
  /** A content that becomes larger than this is written to disk. */
  readonly memoryBytes: number;
  readonly writes: SpoolWrites;
  /**
   * Counts `bytes` more of a content that now has `size` bytes.
   *
   * @throws {QueryError} `limit_exceeded`
   */
  readonly count: (bytes: number, size: number) => void;
  /** Reserves memory for a finished content of `size` bytes. False: it must be written to disk. */
  readonly reserveMemory: (size: number) => boolean;
}

/**
 * Receives the decoded bytes of one content: in a buffer at first, on disk as soon as they exceed the limit for memory.
 *
 * Put bytes into the buffer that `reserve` returns, from `offset` on, then call `commit`.
 */
export class ContentWriter {
  /** Index in the buffer at which the next byte belongs. */
  offset = 0;
  private buffer: Buffer = EMPTY;
  private size = 0;
  private readonly hash: Hash = createHash('sha256');
  private file: SpoolFile | undefined;

  constructor(private readonly context: WriterContext) {}

  /**
   * Makes space for more bytes.
   *
   * @param bytes at most 64 KiB
   * @returns the buffer, with at least that much space from `offset` on
   */
  reserve(bytes: number): Buffer {
    const needed = this.offset + bytes;
    if (needed > this.buffer.length) {
      if (this.file) this.flush(this.file);
      else this.grow(Math.max(needed, Math.min(2 * this.buffer.length, this.context.memoryBytes)));
    }
    return this.buffer;
  }

  /**
   * Adds the bytes that were put into the buffer to the content.
   *
   * @throws {QueryError} `limit_exceeded`
   */
  commit(bytes: number): void {
    this.offset += bytes;
    this.size += bytes;
    this.context.count(bytes, this.size);
    if (this.file === undefined && this.size > this.context.memoryBytes) {
      this.file = this.context.writes.newFile();
      this.flush(this.file);
    }
  }

  /**
   * Counts base64 characters that are not decoded as if they were: the limits apply to them too.
   *
   * @throws {QueryError} `limit_exceeded`
   */
  countUndecoded(characters: number): void {
    const bytes = characters * 0.75;
    this.size += bytes;
    this.context.count(bytes, this.size);
  }

  /** Ends the content. A content on disk is complete once `SpoolWrites.settled` has resolved. */
  finish(): FileContent {
    const { writes, reserveMemory } = this.context;
    if (this.file === undefined && !reserveMemory(this.size)) this.file = writes.newFile();
    const { file } = this;
    if (file === undefined) {
      const bytes = this.buffer.subarray(0, this.offset);
      return new FileContent(this.size, this.hash.update(bytes).digest('hex'), bytes);
    }
    this.flush(file);
    writes.add(() => file.close());
    this.freeBuffer();
    return new FileContent(this.size, this.hash.digest('hex'), file);
  }

  discard(): void {
    const { file } = this;
    if (file) this.context.writes.add(() => file.remove());
    this.freeBuffer();
  }

  private grow(capacity: number): void {
    const grown = Buffer.allocUnsafe(capacity);
    this.buffer.copy(grown, 0, 0, this.offset);
    this.buffer = grown;
  }

  /** Hashes the buffer here while the disk writes the one before it. */
  private flush(file: SpoolFile): void {
    const { writes } = this.context;
    this.hash.update(this.buffer.subarray(0, this.offset));
    writes.append(file, this.buffer, this.offset);
    this.buffer = writes.takeBlock();
    this.offset = 0;
  }

  private freeBuffer(): void {
    this.context.writes.returnBlock(this.buffer);
    this.buffer = EMPTY;
    this.offset = 0;
  }
}
