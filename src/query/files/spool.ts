import { mkdir, open, rm, unlink, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { storageFull } from '../contract/refusals.js';
import { newProcessDirectory, removeAbandonedDirectories } from './process-directories.js';

/** Bytes of one block: large enough that few calls write a file, small enough that hashing one does not delay other runs. */
const BLOCK_BYTES = 256 * 1024;
/** Blocks that are held for reuse, at most. */
const MAX_FREE_BLOCKS = 16;

/** One temporary file, written once from its beginning to its end. It exists on disk from its first byte on. */
export class SpoolFile {
  private handle: FileHandle | undefined;
  private exists = false;
  /** Bytes that were taken of the space of the spool. */
  private size = 0;

  /**
   * @param path absolute
   * @param makeDirectory called if the directory of `path` is missing
   * @param takeSpace called before bytes are written, and with a negative number when the file is removed
   * @param count called with 1 when the file is made, and with -1 when it is removed
   */
  constructor(
    readonly path: string,
    private readonly makeDirectory: () => Promise<void>,
    private readonly takeSpace: (bytes: number) => void,
    private readonly count: (files: number) => void,
  ) {}

  /**
   * Appends all of `bytes`.
   *
   * @throws {QueryError} `storage_full`: the spool would exceed its limit
   * @throws the system's error
   */
  async write(bytes: Uint8Array): Promise<void> {
    this.takeSpace(bytes.length);
    this.size += bytes.length;
    this.handle ??= await this.make();
    await this.handle.writeFile(bytes);
  }

  /** Closes the file after its last byte. Can be called again. */
  async close(): Promise<void> {
    const handle = this.handle;
    this.handle = undefined;
    await handle?.close();
  }

  /** Closes the file and removes it. Can be called again. */
  async remove(): Promise<void> {
    await this.close();
    if (this.exists) {
      await unlink(this.path).catch(ignoreMissing);
      this.exists = false;
      this.count(-1);
    }
    this.takeSpace(-this.size);
    this.size = 0;
  }

  private async make(): Promise<FileHandle> {
    let handle = await open(this.path, 'wx', 0o600).catch(ignoreMissing);
    if (handle === undefined) {
      // This is the first file of the spool, or a cleaner of temporary files removed the directory.
      await this.makeDirectory();
      handle = await open(this.path, 'wx', 0o600);
    }
    this.exists = true;
    this.count(1);
    return handle;
  }
}

/**
 * The temporary files that have the contents of large files while a run needs them. They are in one directory of this
 * process, mode 0700, which is made with its first file.
 *
 * @example
 * const spool = await Spool.open();
 * const document = await readBody(request, DEFAULT_BODY_LIMITS, spool);
 * // …
 * await document.discard();
 * await spool.close();
 */
export class Spool {
  private readonly freeBlocks: Buffer[] = [];
  private madeFiles = 0;
  private closed = false;
  private fileCount = 0;
  private byteCount = 0;
  /** The contents of files that bodies have brought so far, in memory and on disk. */
  readonly received = { files: 0, bytes: 0 };

  private constructor(
    /** This spool's own directory, absolute. */
    readonly directory: string,
    private readonly maxBytes: number,
  ) {}

  /**
   * Removes the directories that crashed processes left in `parent`, then makes a spool there.
   *
   * @param parent made if it is missing. Default: the system's directory for temporary files
   * @param maxBytes the most bytes that all files of the spool may have together. Default: no limit
   * @throws the system's error if `parent` cannot be made or read
   */
  static async open(parent: string = tmpdir(), maxBytes = Infinity): Promise<Spool> {
    await mkdir(parent, { recursive: true, mode: 0o700 });
    await removeAbandonedDirectories(parent);
    return new Spool(newProcessDirectory(parent), maxBytes);
  }

  get files(): number {
    return this.fileCount;
  }

  get usedBytes(): number {
    return this.byteCount;
  }

  receive(bytes: number): void {
    this.received.files++;
    this.received.bytes += bytes;
  }

  /** A new temporary file, which only this user can read. */
  newFile(): SpoolFile {
    const path = join(this.directory, String(++this.madeFiles));
    return new SpoolFile(
      path,
      () => this.makeDirectory(),
      (bytes) => this.takeSpace(bytes),
      (files) => (this.fileCount += files),
    );
  }

  /** A buffer of 256 KiB with arbitrary bytes. */
  takeBlock(): Buffer {
    return this.freeBlocks.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
  }

  /** Makes a buffer that `takeBlock` gave available again. Ignores a buffer of another size. */
  returnBlock(block: Buffer): void {
    if (block.length === BLOCK_BYTES && this.freeBlocks.length < MAX_FREE_BLOCKS) this.freeBlocks.push(block);
  }

  /** Called by Nest once all requests have ended. */
  onApplicationShutdown(): Promise<void> {
    return this.close();
  }

  /** Removes the directory and all files in it. Contents that are still held can no longer be read. Can be called again. */
  async close(): Promise<void> {
    this.closed = true;
    this.freeBlocks.length = 0;
    await rm(this.directory, { recursive: true, force: true });
  }

  private takeSpace(bytes: number): void {
    if (bytes > 0 && this.byteCount + bytes > this.maxBytes) throw storageFull();
    this.byteCount += bytes;
  }

  private async makeDirectory(): Promise<void> {
    if (this.closed) throw new Error('The spool is closed.');
    await mkdir(this.directory, { recursive: true, mode: 0o700 });
  }
}

function ignoreMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
