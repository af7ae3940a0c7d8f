import { createHash } from 'node:crypto';
import { limitExceeded, refusalOfFiles } from '../contract/refusals.js';
import type { BodyLimits } from '../options/table.js';
import { BodyContent } from './content.js';
import type { ContentFile } from '../ports/file-store.js';
import type { SentContent } from '../ports/upload-store.js';
import type { Spool, SpoolFile } from './spool.js';
import type { Transfer } from './transfers.js';

/** One body keeps at most so many contents of the largest size for memory there. Further ones are written to disk. */
const FULL_CONTENTS_IN_MEMORY = 64;

/** The most bytes that a writer takes at once. */
const PIECE_BYTES = 64 * 1024;

/** Steps that may wait for the disk before the sender is held back. */
const MAX_WAITING_STEPS = 4;

const EMPTY = Buffer.alloc(0);

/**
 * All contents of one body while it is read: enforces the limits that they share, and removes them together. Their disk work is
 * done in steps, one after another, beside the reading of the body.
 */
export class BodyContents {
  #totalBytes = 0;
  #inMemoryBytes = 0;
  #waitingSteps = 0;
  #lastStep: Promise<void> = Promise.resolve();
  #failure: unknown;
  #isDiscarded = false;
  #files: ContentFile[] = [];

  constructor(
    readonly limits: BodyLimits,
    readonly spool: Spool,
    private readonly transfer?: Transfer,
  ) {}

  /** True while the reader must wait for `settled` before it reads more. */
  get isCongested(): boolean {
    return this.#waitingSteps >= MAX_WAITING_STEPS || this.#failure !== undefined || this.#isDiscarded;
  }

  /** Begins a content. @param pointer the JSON Pointer of its string */
  begin(pointer?: string): ContentWriter {
    return new ContentWriter(this, pointer);
  }

  /** Receives a content that a store keeps. @throws {QueryError} as `count` and `settled` · what opening and reading throw */
  async receive(sent: SentContent, sha256: string, pointer: string): Promise<BodyContent> {
    const { size } = sent;
    const file = size > this.limits.memoryBytes ? await sent.open?.() : undefined;
    if (!file) return this.#copy(sent.read(), pointer);
    this.#files.push(file);
    this.count(size, size, pointer);
    await this.settled();
    return new BodyContent(size, sha256, file);
  }

  async #copy(bytes: AsyncIterable<Uint8Array>, pointer: string): Promise<BodyContent> {
    const writer = this.begin(pointer);
    for await (const chunk of bytes) {
      writer.add(chunk);
      if (this.isCongested) await this.settled();
    }
    const content = writer.finish();
    await this.settled();
    return content;
  }

  /** Counts `bytes` more of a content that now has `size` bytes. @throws {QueryError} `limit_exceeded` · `rate_limited` */
  count(bytes: number, size: number, pointer: string | undefined): void {
    const { fileBytes, filesBytes } = this.limits;
    this.#totalBytes += bytes;
    if (size > fileBytes) throw limitExceeded('fileBytes', fileBytes, pointer);
    if (this.#totalBytes > filesBytes) throw limitExceeded('filesBytes', filesBytes, pointer);
    const counted = this.transfer?.count(bytes);
    if (counted) this.addStep(() => counted);
  }

  /** Reserves memory for a finished content of `size` bytes. False: it must be written to disk. */
  reserveMemory(size: number): boolean {
    if (this.#inMemoryBytes + size > FULL_CONTENTS_IN_MEMORY * this.limits.memoryBytes) return false;
    this.#inMemoryBytes += size;
    return true;
  }

  newFile(): SpoolFile {
    const file = this.spool.newFile();
    this.#files.push(file);
    return file;
  }

  /** Removes one finished content, behind the disk work that is waiting. */
  drop(content: BodyContent): void {
    this.addStep(() => content.discard());
  }

  /** Adds a step of disk work behind the others. After a failure no further step is executed. */
  addStep(step: () => Promise<void>): void {
    this.#waitingSteps++;
    this.#lastStep = this.#lastStep
      .then(() => (this.#isDiscarded || this.#failure !== undefined ? undefined : step()))
      .catch((error: unknown) => {
        this.#failure ??= refusalOfFiles(error);
      })
      .finally(() => this.#waitingSteps--);
  }

  /** Waits until no step is left. @throws what a step threw first; {QueryError} `storage_full` · `unavailable` for the disk */
  async settled(): Promise<void> {
    while (this.#waitingSteps > 0) await this.#lastStep;
    if (this.#failure !== undefined) throw this.#failure as Error;
    if (this.#isDiscarded) throw new Error('The body was discarded.');
  }

  /**
   * Removes all files, half-written ones too. Steps that have not begun are not executed. Does not reject because of a
   * write that failed. Can be called again.
   */
  async discard(): Promise<void> {
    this.#isDiscarded = true;
    while (this.#waitingSteps > 0) await this.#lastStep;
    for (const file of this.#files) await file.remove();
    this.#files = [];
  }
}

/**
 * Receives the bytes of one content: in a buffer at first, on disk as soon as they exceed the limit for memory.
 *
 * Call `add`; or put bytes into the buffer that `reserve` returns, from `offset` on, then call `commit`.
 */
export class ContentWriter {
  /** Index in the buffer at which the next byte belongs. */
  offset = 0;
  #buffer: Buffer = EMPTY;
  #size = 0;
  readonly #hash = createHash('sha256');
  #file: SpoolFile | undefined;

  constructor(
    private readonly contents: BodyContents,
    private readonly pointer: string | undefined,
  ) {}

  /** Adds any number of bytes. @throws {QueryError} `limit_exceeded` · `rate_limited` */
  add(bytes: Uint8Array): void {
    for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
      const piece = bytes.subarray(start, start + PIECE_BYTES);
      this.reserve(piece.length).set(piece, this.offset);
      this.commit(piece.length);
    }
  }

  /** Returns the buffer, with space for so many bytes from `offset` on: at most 64 KiB. */
  reserve(bytes: number): Buffer {
    const needed = this.offset + bytes;
    if (needed > this.#buffer.length) {
      if (this.#file) this.#flush(this.#file);
      else this.#grow(Math.max(needed, Math.min(2 * this.#buffer.length, this.contents.limits.memoryBytes)));
    }
    return this.#buffer;
  }

  /** Adds the bytes that were put into the buffer. @throws {QueryError} `limit_exceeded` · `rate_limited` */
  commit(bytes: number): void {
    this.offset += bytes;
    this.count(bytes);
    if (this.#file || this.#size <= this.contents.limits.memoryBytes) return;
    this.#file = this.contents.newFile();
    this.#flush(this.#file);
  }

  /** Counts bytes against the limits. @throws {QueryError} `limit_exceeded` · `rate_limited` */
  count(bytes: number): void {
    this.#size += bytes;
    this.contents.count(bytes, this.#size, this.pointer);
  }

  /** Ends the content. A content on disk is complete once `BodyContents.settled` has resolved. */
  finish(): BodyContent {
    if (!this.#file && !this.contents.reserveMemory(this.#size)) this.#file = this.contents.newFile();
    const file = this.#file;
    if (!file) {
      const bytes = this.#buffer.subarray(0, this.offset);
      return new BodyContent(this.#size, this.#hash.update(bytes).digest('hex'), bytes);
    }
    this.#flush(file);
    this.contents.addStep(() => file.close());
    this.#freeBuffer();
    return new BodyContent(this.#size, this.#hash.digest('hex'), file);
  }

  discard(): void {
    const file = this.#file;
    if (file) this.contents.addStep(() => file.remove());
    this.#freeBuffer();
  }

  #grow(capacity: number): void {
    const grown = Buffer.allocUnsafe(capacity);
    this.#buffer.copy(grown, 0, 0, this.offset);
    this.#buffer = grown;
  }

  /** Hashes the buffer here while the disk writes the one before it. It is used again once it is written. */
  #flush(file: SpoolFile): void {
    const { spool } = this.contents;
    const block = this.#buffer;
    const bytes = block.subarray(0, this.offset);
    this.#hash.update(bytes);
    this.contents.addStep(async () => {
      await file.write(bytes);
      spool.returnBlock(block);
    });
    this.#buffer = spool.takeBlock();
    this.offset = 0;
  }

  #freeBuffer(): void {
    this.contents.spool.returnBlock(this.#buffer);
    this.#buffer = EMPTY;
    this.offset = 0;
  }
}
