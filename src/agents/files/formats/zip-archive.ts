import { Readable } from 'node:stream';
import type { Entry, ZipFile } from 'yauzl';
import { bytesOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import type { FilesLimits } from '../files-limits.js';
import { bytes } from '../markdown.js';
import { UnreadableFile } from '../unreadable-file.js';

/** One entry of a ZIP file, as its directory states. */
export interface ZipEntry {
  name: string;
  folder: boolean;
  encrypted: boolean;
  /** Bytes, unpacked and packed. */
  size: number;
  packed: number;
}

/** A ZIP file whose directory has been read. Its entries are unpacked one at a time, within the limit. */
export class ZipArchive {
  /** In the order of the directory, up to the limit. */
  readonly entries: ZipEntry[] = [];
  readonly #found = new Map<string, Entry>();
  #expanded = 0;

  private constructor(
    private readonly zip: ZipFile,
    private readonly limits: FilesLimits,
  ) {}

  /** Whether there are more entries than the limit allows to read. */
  get more(): boolean {
    return this.zip.entryCount > this.entries.length;
  }

  /** @throws {UnreadableFile} if the directory, which is at the end of the file, is missing or broken */
  static async open(file: FileSource, limits: FilesLimits): Promise<ZipArchive> {
    const { RandomAccessReader, fromRandomAccessReaderPromise } = (await import('yauzl')).default;
    class Reader extends RandomAccessReader {
      override _readStreamForRange(start: number, end: number): Readable {
        return Readable.from(bytesOf(file, start, end), { objectMode: false });
      }
    }
    try {
      const zip = await fromRandomAccessReaderPromise(new Reader(), file.size, {
        autoClose: false,
        // Names are only shown, never used as paths. Therefore names that the library would refuse are accepted.
        decodeStrings: false,
      });
      const archive = new ZipArchive(zip, limits);
      await archive.#readDirectory();
      return archive;
    } catch (error) {
      throw broken(error);
    }
  }

  /** Whether there is an entry of this name. */
  has(name: string): boolean {
    return this.#found.has(name);
  }

  /**
   * Unpacks an entry. An entry that does not exist is empty.
   *
   * @throws {UnreadableFile} if the archive is broken or encrypted, or unpacks to more than the limit
   */
  async *read(name: string): AsyncGenerator<Uint8Array> {
    const entry = this.#found.get(name);
    if (!entry) return;
    if (entry.isEncrypted()) throw new UnreadableFile('This document is encrypted.');
    try {
      for await (const chunk of await this.zip.openReadStreamPromise(entry)) {
        this.#expanded += (chunk as Buffer).length;
        if (this.#expanded > this.limits.expandedMiB * 1024 * 1024) {
          const limit = bytes(this.limits.expandedMiB * 1024 * 1024);
          throw new UnreadableFile(
            `This document unpacks to more than ${limit}, which is more than is read here.`,
          );
        }
        yield chunk as Buffer;
      }
    } catch (error) {
      throw broken(error);
    }
  }

  async #readDirectory(): Promise<void> {
    const { getFileNameLowLevel } = (await import('yauzl')).default;
    for await (const entry of this.zip.eachEntry()) {
      const name = getFileNameLowLevel(
        entry.generalPurposeBitFlag,
        entry.fileNameRaw,
        entry.extraFields,
        false,
      );
      this.entries.push({
        name,
        folder: name.endsWith('/'),
        encrypted: entry.isEncrypted(),
        size: entry.uncompressedSize,
        packed: entry.compressedSize,
      });
      this.#found.set(name, entry);
      if (this.entries.length >= this.limits.entries) break;
    }
  }
}

function broken(error: unknown): unknown {
  if (error instanceof UnreadableFile) return error;
  return new UnreadableFile(
    'This ZIP archive is broken or cut off: its directory or an entry cannot be read.',
  );
}
