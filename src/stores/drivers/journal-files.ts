import { constants, statSync, write } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import { Logger } from '@nestjs/common';

/** A row of the journal. Rows are numbered in their order. */
export interface JournalRow {
  number: number;
  text: string;
}

/** A file that has so many bytes is left for the other one, as soon as no row of that is needed. */
const FILE_LENGTH = 4 * 1024 * 1024;

/**
 * A file grows by so many bytes of zeros behind a row. The rows after that are written where the file has its blocks already,
 * which takes a fifth less time: the disk gets the data and nothing about the file.
 */
const GROWTH = 64 * 1024;

/**
 * How often the path is checked, in milliseconds. Linux stores the time of a write only roughly until somebody asks for it, and
 * the check asks: one before each row would make each write store the time too.
 */
const CHECK_MS = 100;

/** With this flag, a write ends when the disk has it. Undefined on Windows, where a second call waits for the disk. */
const SYNCED = constants.O_DSYNC as number | undefined;

const writeTo = promisify(write);

/**
 * The two files of a journal, to which rows are appended in turn. Each append is one write that reaches the disk: a transaction
 * of SQLite takes three times as much of the processor. A row is preceded by a line with its number, the length of its text in
 * bytes and its checksum, so that a row that was cut off by a crash is not read.
 */
export class JournalFiles {
  #current: JournalFile;
  #other: JournalFile;
  /** The oldest row that is needed. */
  #oldest = 1;

  private constructor([first, second]: JournalFile[]) {
    this.#current = first!;
    this.#other = second!;
  }

  /** Opens the files `<path>.journal1` and `<path>.journal2`, or creates them. */
  static async open(path: string): Promise<JournalFiles> {
    const files: JournalFile[] = [];
    try {
      for (const number of [1, 2]) files.push(await JournalFile.open(`${path}.journal${number}`));
      await syncNames(dirname(path));
    } catch (error) {
      for (const file of files) await file.close(true);
      throw error;
    }
    return new JournalFiles(files);
  }

  get isEmpty(): boolean {
    return this.#current.length + this.#other.length === 0;
  }

  /** Returns the rows of both files, in their order. The rest of a file that is damaged is skipped, and reported. */
  async read(): Promise<JournalRow[]> {
    const rows = [...(await this.#current.read()), ...(await this.#other.read())];
    return rows.toSorted((a, b) => a.number - b.number);
  }

  /**
   * Appends a row. When the promise resolves, the row is on the disk. When it rejects, the row may be there too, and the same
   * row can be appended again. Calls must not overlap.
   *
   * @throws the error of the file system; an error with the code `SQLITE_REPLACED` if the file was deleted or replaced,
   *   which is noticed within a tenth of a second
   */
  async append(row: JournalRow): Promise<void> {
    if (this.#current.length >= FILE_LENGTH && this.#other.newest < this.#oldest) {
      await this.#other.clear();
      [this.#current, this.#other] = [this.#other, this.#current];
    }
    await this.#current.append(row);
  }

  /** Rows with smaller numbers are not needed any more. */
  release(oldest: number): void {
    this.#oldest = oldest;
  }

  /** Removes all rows, also from the disk. */
  async clear(): Promise<void> {
    for (const file of [this.#current, this.#other]) await file.clear();
  }

  /** Closes the files, and removes those of which nothing is needed. */
  async close(): Promise<void> {
    for (const file of [this.#current, this.#other]) await file.close(file.newest >= this.#oldest);
  }
}

class JournalFile {
  /** The number of its newest row. */
  newest: number;
  /** How many bytes it has, with the zeros behind its rows. */
  #size: number;
  /** When the path was found to be that of the file, on the clock of `performance`. */
  #checkedAt = -Infinity;

  /** @param length of its rows, in bytes */
  private constructor(
    private readonly path: string,
    private readonly handle: FileHandle,
    private readonly ino: number,
    public length: number,
  ) {
    // What the last process has left is needed until it is cleared.
    this.newest = length > 0 ? Infinity : 0;
    this.#size = length;
  }

  static async open(path: string): Promise<JournalFile> {
    const handle = await open(path, constants.O_RDWR | constants.O_CREAT | (SYNCED ?? 0), 0o600);
    const { ino, size } = await handle.stat();
    return new JournalFile(path, handle, ino, size);
  }

  /** Returns its rows up to the first that is not whole. */
  async read(): Promise<JournalRow[]> {
    const rows: JournalRow[] = [];
    const file = Buffer.alloc(this.length);
    await this.handle.read(file, 0, file.length, 0);
    const bytes = withoutZeros(file);
    for (let start = 0; start < bytes.length;) {
      const headEnd = bytes.indexOf('\n', start);
      const [number, length, checksum] = bytes.toString('latin1', start, headEnd).split(' ').map(Number);
      const end = headEnd + 1 + length!;
      const text = bytes.subarray(headEnd + 1, end);
      if (headEnd < 0 || text.length !== length || crc32(text) !== checksum) {
        // The last row was being written when the process ended. Nobody knows it.
        if (headEnd >= 0 && !(end >= bytes.length)) this.#reportDamage(start);
        break;
      }
      rows.push({ number: number!, text: text.toString() });
      start = end;
    }
    return rows;
  }

  async append({ number, text }: JournalRow): Promise<void> {
    this.#checkPath();
    const row = Buffer.from(`${number} ${Buffer.byteLength(text)} ${crc32(text)}\n${text}`);
    const end = this.length + row.length;
    const bytes = end > this.#size ? Buffer.concat([row], row.length + GROWTH) : row;
    try {
      for (let at = this.length; at < end;) {
        const offset = at - this.length;
        // The handle's own method takes a quarter more of the processor.
        at += (await writeTo(this.handle.fd, bytes, offset, bytes.length - offset, at)).bytesWritten;
        this.#size = Math.max(this.#size, at);
      }
      if (SYNCED === undefined) await this.handle.datasync();
    } catch (error) {
      // A part of it may take the last space of the disk.
      await this.#truncate(this.length).catch(() => undefined);
      throw error;
    }
    this.length = end;
    this.newest = number;
  }

  async clear(): Promise<void> {
    if (this.length === 0) return;
    await this.#truncate(0);
    await this.handle.datasync();
    this.length = 0;
    this.newest = 0;
  }

  async close(isNeeded: boolean): Promise<void> {
    await this.handle.close();
    if (!isNeeded) await unlink(this.path).catch(() => undefined);
  }

  async #truncate(length: number): Promise<void> {
    this.#size = length;
    await this.handle.truncate(length);
  }

  #checkPath(): void {
    const now = performance.now();
    if (now - this.#checkedAt < CHECK_MS) return;
    if (statSync(this.path, { throwIfNoEntry: false })?.ino !== this.ino) {
      throw Object.assign(new Error('The journal was deleted or replaced.'), { code: 'SQLITE_REPLACED' });
    }
    this.#checkedAt = now;
  }

  #reportDamage(at: number): void {
    const message = `The file ${this.path} is damaged at byte ${at}. Runs go on from what is left of their logs.`;
    new Logger('Journal').error(message);
  }
}

function withoutZeros(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end--;
  return bytes.subarray(0, end);
}

/** Makes sure that new files are still in their directory after the machine has lost its power, where the system can do that. */
async function syncNames(directory: string): Promise<void> {
  const handle = await open(directory).catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}
