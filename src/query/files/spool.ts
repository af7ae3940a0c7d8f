import { createHash, randomBytes } from 'node:crypto';
import { lstat, mkdir, open, readdir, readFile, rm, unlink, type FileHandle } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { storageFull } from '../contract/refusals.js';

/** Bytes of one block: large enough that few calls write a file, small enough that hashing one does not delay other runs. */
const BLOCK_BYTES = 256 * 1024;
/** Blocks that are held for reuse, at most. */
const MAX_FREE_BLOCKS = 16;
const DAY_MS = 24 * 60 * 60 * 1000;
const PREFIX = 'nest-agent-query';

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
   */
  constructor(
    readonly path: string,
    private readonly makeDirectory: () => Promise<void>,
    private readonly takeSpace: (bytes: number) => void,
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
    if (this.exists) await unlink(this.path).catch(ignoreMissing);
    this.exists = false;
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
  private fileCount = 0;
  private closed = false;
  /** Bytes of all files. */
  private usedBytes = 0;

  private constructor(
    /** This spool's own directory, absolute. */
    readonly directory: string,
    private readonly maxBytes: number,
  ) {}

  /**
   * Removes the spools that crashed processes left in `parent`, then makes a spool there.
   *
   * The name of a spool's directory states the machine, the process id and the start time of its process. A directory is
   * removed if this user owns it and that process is dead, which is also the case if the process that has its id now
   * started at another time. The directory of another machine (a shared volume) is removed once it has not changed for a
   * day.
   *
   * @param parent made if it is missing. Default: the system's directory for temporary files
   * @param maxBytes the most bytes that all files of the spool may have together. Default: no limit
   * @throws the system's error if `parent` cannot be made or read
   */
  static async open(parent: string = tmpdir(), maxBytes = Infinity): Promise<Spool> {
    await mkdir(parent, { recursive: true, mode: 0o700 });
    await sweep(parent);
    const name = [PREFIX, machine(), process.pid, await startOf(process.pid), randomBytes(6).toString('hex')];
    return new Spool(join(parent, name.join('-')), maxBytes);
  }

  /** A new temporary file, which only this user can read. */
  newFile(): SpoolFile {
    const path = join(this.directory, String(++this.fileCount));
    return new SpoolFile(
      path,
      () => this.makeDirectory(),
      (bytes) => this.takeSpace(bytes),
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
    if (bytes > 0 && this.usedBytes + bytes > this.maxBytes) throw storageFull();
    this.usedBytes += bytes;
  }

  private async makeDirectory(): Promise<void> {
    if (this.closed) throw new Error('The spool is closed.');
    await mkdir(this.directory, { recursive: true, mode: 0o700 });
  }
}

async function sweep(parent: string): Promise<void> {
  const names = await readdir(parent);
  await Promise.all(
    names.map(async (name) => {
      const path = join(parent, name);
      if (await isAbandoned(name, path)) await rm(path, { recursive: true, force: true });
    }),
  );
}

async function isAbandoned(name: string, path: string): Promise<boolean> {
  const [, machineName, pid, start] =
    new RegExp(`^${PREFIX}-([0-9a-f]{8})-(\\d+)-(\\d+)-[0-9a-f]{12}$`).exec(name) ?? [];
  if (machineName === undefined || pid === undefined) return false;
  const found = await lstat(path).catch(ignoreMissing);
  if (!found?.isDirectory() || (process.getuid && found.uid !== process.getuid())) return false;
  if (machineName !== machine()) return Date.now() - found.mtimeMs > DAY_MS;
  return !isAlive(Number(pid)) || (await startOf(Number(pid))) !== start;
}

/** Eight hexadecimal digits that stand for this machine. */
function machine(): string {
  return createHash('sha256').update(hostname()).digest('hex').slice(0, 8);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/**
 * The start time of a process in clock ticks since boot (proc(5)): systems reuse process ids, but never an id and a start
 * time together. `0` on systems without `/proc`.
 */
async function startOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  // The second field is the program's name, which may contain anything; the start time is the 20th field after it.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '0';
}

function ignoreMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
