import { createHash, randomBytes } from 'node:crypto';
import { lstat, mkdir, open, readdir, readFile, rm, unlink, type FileHandle } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

/** Bytes of one block: large enough that a write is worth its call, small enough to hash without holding up others. */
const BLOCK_BYTES = 256 * 1024;
const FREE_BLOCKS = 16;
const DAY_MS = 24 * 60 * 60 * 1000;
const PREFIX = 'nest-agent-query';

/** One temporary file, written once from its beginning to its end. It exists from its first byte on. */
export class SpoolFile {
  private handle: FileHandle | undefined;
  private exists = false;

  /**
   * @param path absolute
   * @param makeDirectory called where the directory is missing
   */
  constructor(
    readonly path: string,
    private readonly makeDirectory: () => Promise<void>,
  ) {}

  /** Appends all of `bytes`. Rejects with the system's error. */
  async write(bytes: Uint8Array): Promise<void> {
    this.handle ??= await this.make();
    await this.handle.writeFile(bytes);
  }

  /** Ends the writing. Can be called again. */
  async close(): Promise<void> {
    const handle = this.handle;
    this.handle = undefined;
    await handle?.close();
  }

  /** Closes and unlinks. Can be called again. */
  async remove(): Promise<void> {
    await this.close();
    if (this.exists) await unlink(this.path).catch(ignoreMissing);
    this.exists = false;
  }

  private async make(): Promise<FileHandle> {
    let handle = await open(this.path, 'wx', 0o600).catch(ignoreMissing);
    if (handle === undefined) {
      // The first file of all, or the directory fell to a cleaner of temporary files.
      await this.makeDirectory();
      handle = await open(this.path, 'wx', 0o600);
    }
    this.exists = true;
    return handle;
  }
}

/**
 * Where the contents of large files lie while a run needs them: one directory of this process, mode 0700, which appears
 * with its first file.
 *
 * @example
 * const spool = await Spool.open();
 * const document = await readBody(request, DEFAULT_BODY_LIMITS, spool);
 * // …
 * await document.discard();
 * await spool.close();
 */
export class Spool {
  private readonly free: Buffer[] = [];
  private files = 0;
  private closed = false;

  private constructor(
    /** This spool's own directory, absolute. */
    readonly directory: string,
  ) {}

  /**
   * Sweeps what crashed processes left in `parent`, then makes a spool in it.
   *
   * A directory is swept if this user owns it and the process that its name tells is dead, or has a start time other
   * than that of the process which has this id now. The directory of another machine (a shared volume) is swept once
   * nothing in it has changed for a day.
   *
   * @param parent made if it is missing. Default: the system's directory for temporary files
   */
  static async open(parent: string = tmpdir()): Promise<Spool> {
    await mkdir(parent, { recursive: true, mode: 0o700 });
    await sweep(parent);
    const name = [PREFIX, machine(), process.pid, await startOf(process.pid), randomBytes(6).toString('hex')];
    return new Spool(join(parent, name.join('-')));
  }

  /** A file of this spool that only this user can read. */
  file(): SpoolFile {
    return new SpoolFile(join(this.directory, String(++this.files)), () => this.makeDirectory());
  }

  /** A buffer of 256 KiB with any content. */
  takeBlock(): Buffer {
    return this.free.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
  }

  /** Returns what `takeBlock` gave; any other buffer is left to the garbage collector. */
  giveBlock(block: Buffer): void {
    if (block.length === BLOCK_BYTES && this.free.length < FREE_BLOCKS) this.free.push(block);
  }

  /** Called by Nest, when nobody reads any more. */
  onApplicationShutdown(): Promise<void> {
    return this.close();
  }

  /** Removes the directory with all that is in it. Contents that are still held can no longer be read. */
  async close(): Promise<void> {
    this.closed = true;
    this.free.length = 0;
    await rm(this.directory, { recursive: true, force: true });
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
      if (await isLeftOver(name, path)) await rm(path, { recursive: true, force: true });
    }),
  );
}

async function isLeftOver(name: string, path: string): Promise<boolean> {
  const [, owner, pid, start] =
    new RegExp(`^${PREFIX}-([0-9a-f]{8})-(\\d+)-(\\d+)-[0-9a-f]{12}$`).exec(name) ?? [];
  if (owner === undefined || pid === undefined) return false;
  const found = await lstat(path).catch(ignoreMissing);
  if (!found?.isDirectory() || (process.getuid && found.uid !== process.getuid())) return false;
  if (owner !== machine()) return Date.now() - found.mtimeMs > DAY_MS;
  return !isAlive(Number(pid)) || (await startOf(Number(pid))) !== start;
}

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

/** A process id is given again after a while; with the start time (ticks since boot, proc(5)) it is unique. Elsewhere `0`. */
async function startOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  // The second field is the program's name, which may hold anything; the start time is the 20th after it.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '0';
}

function ignoreMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
