import { refusalOfFiles } from '../contract/refusals.js';
import type { Spool, SpoolFile } from './spool.js';

/** Steps that may wait for the disk before the sender is held back. */
const MAX_WAITING_STEPS = 4;

/**
 * The disk work of one body: steps that are executed one after another, beside the reading of the body, and the files
 * that they write.
 */
export class SpoolWrites {
  private waiting = 0;
  private lastStep: Promise<void> = Promise.resolve();
  private failure: unknown;
  private stopped = false;
  private readonly files = new Set<SpoolFile>();

  constructor(private readonly spool: Spool) {}

  /** True while the reader must wait for `settled` before it scans more. */
  get congested(): boolean {
    return this.waiting >= MAX_WAITING_STEPS || this.failure !== undefined;
  }

  /** A new temporary file, which `discard` removes. */
  newFile(): SpoolFile {
    const file = this.spool.newFile();
    this.files.add(file);
    return file;
  }

  /** A buffer of 256 KiB with arbitrary bytes. Give it to `append`, or back with `returnBlock`. */
  takeBlock(): Buffer {
    return this.spool.takeBlock();
  }

  /** Makes a buffer that `takeBlock` gave available again. Ignores any other buffer. */
  returnBlock(block: Buffer): void {
    this.spool.returnBlock(block);
  }

  /**
   * Appends the first `length` bytes of a buffer to a file. The buffer must not be changed afterwards: it is recycled
   * once it is written.
   */
  append(file: SpoolFile, block: Buffer, length: number): void {
    this.add(async () => {
      await file.write(block.subarray(0, length));
      this.returnBlock(block);
    });
  }

  /** Adds a step of disk work behind the others. After a failure no further step is executed. */
  add(step: () => Promise<void>): void {
    this.waiting++;
    this.lastStep = this.lastStep
      .then(() => (this.stopped || this.failure !== undefined ? undefined : step()))
      .catch((error: unknown) => {
        this.failure ??= refusalOfFiles(error);
      })
      .finally(() => this.waiting--);
  }

  /**
   * Waits until no step is left.
   *
   * @throws {QueryError} `storage_full` · `unavailable`: the disk failed
   * @throws any other error of a step, unchanged
   */
  async settled(): Promise<void> {
    while (this.waiting > 0) await this.lastStep;
    if (this.failure !== undefined) throw this.failure as Error;
    if (this.stopped) throw new Error('The body was discarded.');
  }

  /**
   * Removes all files, half-written ones too. Steps that have not begun are not executed. Does not reject because of a
   * write that failed. Can be called again.
   */
  async discard(): Promise<void> {
    this.stopped = true;
    while (this.waiting > 0) await this.lastStep;
    for (const file of this.files) await file.remove();
    this.files.clear();
  }
}
