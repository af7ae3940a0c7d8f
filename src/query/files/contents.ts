import { createHash, type Hash } from 'node:crypto';
import { openAsBlob } from 'node:fs';
import { open } from 'node:fs/promises';
import { storageFull } from '../contract/refusals.js';
import { limitExceeded, type BodyLimits } from '../body/limits.js';
import type { Spool, SpoolFile } from './spool.js';

/** Blocks that may wait for the disk before the sender is held back. */
const WAITING_BLOCKS = 4;
/** How many contents of the largest size that stays in memory one body may keep there; further ones go to disk. */
const FULL_CONTENTS_IN_MEMORY = 64;
/** As much of a file as tells its type. */
const HEAD_BYTES = 4100;

const NOTHING = Buffer.alloc(0);

/** One for all: every query comes to this, and an error costs as much as a small one. */
const DISCARDED = new Error('The body was discarded.');

/** The decoded content of one file part, in memory or in a temporary file. */
export class FileContent {
  /**
   * @param size bytes
   * @param sha256 of the content, 64 lower-case hexadecimal digits
   * @param place the bytes themselves, or the file that holds them
   */
  constructor(
    readonly size: number,
    readonly sha256: string,
    private place: Buffer | SpoolFile | undefined,
  ) {}

  /**
   * The content as a `File`, readable any number of times until `discard`. One that lies on disk is read as it is
   * consumed, never loaded; reading it after `discard` rejects with a `NotReadableError`.
   *
   * @param name the caller's label
   * @param mimeType becomes `File.type`
   * @throws Error if the content was discarded
   */
  async file(name: string, mimeType: string): Promise<File> {
    const place = this.held();
    const source = Buffer.isBuffer(place) ? place : await openAsBlob(place.path);
    return new File([source], name, { type: mimeType });
  }

  /**
   * The type that the first 4,100 bytes tell, such as `image/png`; undefined where they tell none.
   *
   * @throws Error if the content was discarded
   */
  async detectType(): Promise<string | undefined> {
    const head = await this.head();
    // Loaded with the first file: a service that sees none does without.
    const { fileTypeFromBuffer } = await import('file-type');
    return (await fileTypeFromBuffer(head))?.mime;
  }

  /** Gives up the memory or unlinks the file. Can be called again. */
  async discard(): Promise<void> {
    const place = this.place;
    this.place = undefined;
    if (place && !Buffer.isBuffer(place)) await place.remove();
  }

  private held(): Buffer | SpoolFile {
    if (this.place === undefined) throw new Error('The content was discarded.');
    return this.place;
  }

  private async head(): Promise<Buffer> {
    const place = this.held();
    if (Buffer.isBuffer(place)) return place.subarray(0, HEAD_BYTES);
    const handle = await open(place.path);
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
      return buffer.subarray(0, bytesRead);
    } finally {
      await handle.close();
    }
  }
}

/**
 * All contents of one body while it is read: counts them against the limits and writes to disk one block after another,
 * beside the reading.
 */
export class Contents {
  private total = 0;
  private inMemory = 0;
  private waiting = 0;
  private work: Promise<void> = Promise.resolve();
  private failure: unknown;
  private readonly files = new Set<SpoolFile>();

  constructor(
    readonly limits: BodyLimits,
    readonly spool: Spool,
  ) {}

  /** Begins the content of a part. */
  begin(part: number): ContentWriter {
    return new ContentWriter(this, part);
  }

  /** True where the reader has to wait for `settled` before it goes on. */
  get congested(): boolean {
    return this.waiting >= WAITING_BLOCKS || this.failure !== undefined;
  }

  /**
   * Waits until all that was written lies on disk.
   *
   * @throws QueryError `storage_full`; any other error of the system as it is
   */
  async settled(): Promise<void> {
    while (this.waiting > 0) await this.work;
    if (this.failure !== undefined) throw this.failure as Error;
  }

  /** Removes every file of the body, half-written ones too. Never rejects for what writing them met. */
  async discard(): Promise<void> {
    this.failure ??= DISCARDED;
    while (this.waiting > 0) await this.work;
    for (const file of this.files) await file.remove();
    this.files.clear();
  }

  /** Counts decoded bytes of a part of which `size` have come. Throws QueryError `limit_exceeded`. */
  count(bytes: number, size: number, part: number): void {
    this.total += bytes;
    if (size > this.limits.fileBytes) throw limitExceeded('fileBytes', this.limits.fileBytes, part);
    if (this.total > this.limits.filesBytes) throw limitExceeded('filesBytes', this.limits.filesBytes, part);
  }

  /** Whether a finished content may stay in memory, which is then taken. */
  keepInMemory(size: number): boolean {
    if (this.inMemory + size > FULL_CONTENTS_IN_MEMORY * this.limits.memoryBytes) return false;
    this.inMemory += size;
    return true;
  }

  /** Puts one step of disk work behind those before it. After a failure no further step is taken. */
  queue(step: () => Promise<void>): void {
    this.waiting++;
    this.work = this.work
      .then(() => (this.failure === undefined ? step() : undefined))
      .catch((error: unknown) => {
        this.failure ??= isFull(error) ? storageFull(error) : error;
      })
      .finally(() => this.waiting--);
  }

  /** A file that `discard` removes with the others. */
  file(): SpoolFile {
    const file = this.spool.file();
    this.files.add(file);
    return file;
  }
}

function isFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** Takes the decoded bytes of one content: into memory at first, to disk once they are many. */
export class ContentWriter {
  /** Where in `room` the next byte belongs. */
  position = 0;
  private buffer: Buffer = NOTHING;
  private size = 0;
  private readonly hash: Hash = createHash('sha256');
  private stored: SpoolFile | undefined;

  constructor(
    private readonly contents: Contents,
    private readonly part: number,
  ) {}

  /** A buffer with room for so many bytes (64 KiB at most) from `position` on; `wrote` says how many were put there. */
  room(bytes: number): Buffer {
    const needed = this.position + bytes;
    if (needed > this.buffer.length) {
      if (this.stored) this.flush(this.stored);
      else this.grow(Math.max(needed, Math.min(2 * this.buffer.length, this.contents.limits.memoryBytes)));
    }
    return this.buffer;
  }

  /** Throws QueryError `limit_exceeded`. */
  wrote(bytes: number): void {
    this.position += bytes;
    this.size += bytes;
    this.contents.count(bytes, this.size, this.part);
    if (this.stored === undefined && this.size > this.contents.limits.memoryBytes) {
      this.flush((this.stored = this.contents.file()));
    }
  }

  /** Counts characters that are no longer decoded as if they were. Throws QueryError `limit_exceeded`. */
  skipped(characters: number): void {
    const bytes = characters * 0.75;
    this.size += bytes;
    this.contents.count(bytes, this.size, this.part);
  }

  /** Ends the content. One that lies on disk is complete once `Contents.settled` has resolved. */
  finish(): FileContent {
    if (this.stored === undefined && !this.contents.keepInMemory(this.size))
      this.stored = this.contents.file();
    const { stored } = this;
    if (stored === undefined) {
      const bytes = this.buffer.subarray(0, this.position);
      return new FileContent(this.size, this.hash.update(bytes).digest('hex'), bytes);
    }
    this.flush(stored);
    this.contents.queue(() => stored.close());
    this.recycle();
    return new FileContent(this.size, this.hash.digest('hex'), stored);
  }

  /** Drops what has come. */
  discard(): void {
    const { stored } = this;
    if (stored) this.contents.queue(() => stored.remove());
    this.recycle();
  }

  private grow(capacity: number): void {
    const grown = Buffer.allocUnsafe(capacity);
    this.buffer.copy(grown, 0, 0, this.position);
    this.buffer = grown;
  }

  private flush(stored: SpoolFile): void {
    const full = this.buffer;
    const bytes = full.subarray(0, this.position);
    this.hash.update(bytes);
    this.contents.queue(async () => {
      await stored.write(bytes);
      this.contents.spool.giveBlock(full);
    });
    this.buffer = this.contents.spool.takeBlock();
    this.position = 0;
  }

  private recycle(): void {
    this.contents.spool.giveBlock(this.buffer);
    this.buffer = NOTHING;
    this.position = 0;
  }
}
