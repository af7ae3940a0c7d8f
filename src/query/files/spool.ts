import { mkdir, open, rm, unlink, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { storageFull } from '../contract/refusals.js';
import { ignoreMissing, newProcessDirectory, removeAbandonedDirectories } from './process-directories.js';

/** Bytes of one block: large enough that few calls write a file, small enough that hashing one does not delay other runs. */
const BLOCK_BYTES = 256 * 1024;
/** Blocks that are held for reuse, at most. */
const MAX_FREE_BLOCKS = 16;

/** One temporary file, written once from its beginning to its end. It exists on disk from its first byte on. */
export class SpoolFile {
  #handle: FileHandle | undefined;
  #exists = false;
  /** Bytes that were taken of the space of the spool. */
  #size = 0;

  constructor(
    readonly path: string,
    private readonly spool: Spool,
  ) {}

  /** Appends all of `bytes`. @throws {QueryError} `storage_full`: the spool would exceed its limit; or the system's error */
  async write(bytes: Uint8Array): Promise<void> {
    this.spool.takeSpace(bytes.length);
    this.#size += bytes.length;
    this.#handle ??= await this.#make();
    await this.#handle.writeFile(bytes);
  }

  /** Closes the file after its last byte. Can be called again. */
  async close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }

  /** Closes the file and removes it. Can be called again. */
  async remove(): Promise<void> {
    await this.close();
    if (this.#exists) {
      await unlink(this.path).catch(ignoreMissing);
      this.#exists = false;
      this.spool.files--;
    }
    this.spool.takeSpace(-this.#size);
    this.#size = 0;
  }

  async #make(): Promise<FileHandle> {
    let handle = await open(this.path, 'wx', 0o600).catch(ignoreMissing);
    if (handle === undefined) {
      // This is the first file of the spool, or a cleaner of temporary files removed the directory.
      await this.spool.makeDirectory();
      handle = await open(this.path, 'wx', 0o600);
    }
    this.#exists = true;
    this.spool.files++;
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
  /** How many files are on disk. */
  files = 0;
  /** The bytes that the files on disk have, or are about to have. */
  usedBytes = 0;
  /** The contents of files that bodies have brought so far, in memory and on disk. */
  readonly received = { files: 0, bytes: 0 };
  readonly #freeBlocks: Buffer[] = [];
  #madeFiles = 0;
  #isClosed = false;

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

  receive(bytes: number): void {
    this.received.files++;
    this.received.bytes += bytes;
  }

  /** A new temporary file, which only this user can read. */
  newFile(): SpoolFile {
    return new SpoolFile(join(this.directory, String(++this.#madeFiles)), this);
  }

  /** Writes a whole file. No file is left if it throws: what reading `bytes` and `SpoolFile.write` throw. */
  async write(bytes: AsyncIterable<Uint8Array>): Promise<SpoolFile> {
    const file = this.newFile();
    try {
      for await (const chunk of bytes) await file.write(chunk);
      await file.close();
      return file;
    } catch (error) {
      await file.remove();
      throw error;
    }
  }

  /** A buffer of 256 KiB with arbitrary bytes. */
  takeBlock(): Buffer {
    return this.#freeBlocks.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
  }

  /** Makes a buffer that `takeBlock` gave available again. Ignores a buffer of another size. */
  returnBlock(block: Buffer): void {
    if (block.length === BLOCK_BYTES && this.#freeBlocks.length < MAX_FREE_BLOCKS)
      this.#freeBlocks.push(block);
  }

  /** Called by Nest once all requests have ended. */
  onApplicationShutdown(): Promise<void> {
    return this.close();
  }

  /** Removes the directory and all files in it. Contents that are still held can no longer be read. Can be called again. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#freeBlocks.length = 0;
    await rm(this.directory, { recursive: true, force: true });
  }

  /** Counts bytes that a file is about to get; a negative number when it is gone. @throws {QueryError} `storage_full` */
  takeSpace(bytes: number): void {
    if (bytes > 0 && this.usedBytes + bytes > this.maxBytes) throw storageFull();
    this.usedBytes += bytes;
  }

  async makeDirectory(): Promise<void> {
    if (this.#isClosed) throw new Error('The spool is closed.');
    await mkdir(this.directory, { recursive: true, mode: 0o700 });
  }
}
