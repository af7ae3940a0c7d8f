import { limitExceeded } from '../contract/refusals.js';
import type { BodyLimits } from '../options/table.js';
import type { FileContent } from './content.js';
import { ContentWriter } from './content-writer.js';
import { SpoolWrites } from './spool-writes.js';
import type { Spool } from './spool.js';
import type { Upload } from './uploads.js';

/** One body keeps at most so many contents of the largest size for memory there. Further ones are written to disk. */
const FULL_CONTENTS_IN_MEMORY = 64;

/** All contents of one body while it is read: enforces the limits that they share, and removes them together. */
export class BodyContents {
  /** The disk work of the contents. */
  readonly writes: SpoolWrites;
  private totalBytes = 0;
  private inMemoryBytes = 0;

  constructor(
    readonly limits: BodyLimits,
    private readonly spool: Spool,
    private readonly upload?: Upload,
  ) {
    this.writes = new SpoolWrites(spool);
  }

  /**
   * Begins a content.
   *
   * @param part the index of its part, if it belongs to one
   */
  begin(part?: number): ContentWriter {
    return new ContentWriter({
      memoryBytes: this.limits.memoryBytes,
      writes: this.writes,
      count: (bytes, size) => this.count(bytes, size, part),
      reserveMemory: (size) => this.reserveMemory(size),
    });
  }

  /** Removes one finished content, behind the disk work that is waiting. */
  drop(content: FileContent): void {
    this.writes.add(() => content.discard());
  }

  /** The body is complete, and has this content. */
  receive(content: FileContent): void {
    this.spool.receive(content.size);
  }

  private count(bytes: number, size: number, part: number | undefined): void {
    const { fileBytes, filesBytes } = this.limits;
    this.totalBytes += bytes;
    if (size > fileBytes) throw limitExceeded('fileBytes', fileBytes, part);
    if (this.totalBytes > filesBytes) throw limitExceeded('filesBytes', filesBytes, part);
    const counted = this.upload?.count(bytes);
    if (counted) this.writes.add(() => counted);
  }

  private reserveMemory(size: number): boolean {
    if (this.inMemoryBytes + size > FULL_CONTENTS_IN_MEMORY * this.limits.memoryBytes) return false;
    this.inMemoryBytes += size;
    return true;
  }
}
