import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import type { Entry, ZipFile } from 'yauzl';
import { bytesOf } from '../file-source.js';
import type { FileSource } from '../file-source.js';
import type { FilesLimits } from '../files-limits.js';
import { bytes, code } from '../markdown.js';
import { ReadingStopped, unpackedTooMuch } from '../reading-stopped.js';
import { UnreadableFile } from '../unreadable-file.js';
import type { ArchiveEntry } from './archive.js';
import { decoderOf } from './code-pages.js';
import { encodingOfNames, guessNote } from './encoding.js';
import { ReadAhead } from './read-ahead.js';

/** The flag of an entry whose name is UTF-8. */
const UTF_8 = 0x800;

/** A ZIP file whose directory has been read. Its entries are unpacked one at a time, within the limit. */
export class ZipArchive {
  /** What the directory states, in its order and up to the limit. */
  readonly entries: ArchiveEntry[] = [];
  /** What ended the reading of the directory before its end. */
  stopped: ReadingStopped | undefined;
  /** Sentences about what is guessed. */
  readonly notes: string[] = [];
  readonly #found = new Map<string, Entry>();
  /** Office compares the names of parts without case (ECMA-376 part 2, 6.2.2.3), and some programs write `\\` for `/`. */
  readonly #folded = new Map<string, Entry>();
  #expanded = 0;

  private constructor(
    private readonly zip: ZipFile,
    private readonly file: FileSource,
    private readonly limits: FilesLimits,
  ) {}

  /** @throws {UnreadableFile} if the directory, which is at the end of the file, is missing or broken */
  static async open(file: FileSource, limits: FilesLimits): Promise<ZipArchive> {
    const { RandomAccessReader, fromRandomAccessReaderPromise } = (await import('yauzl')).default;
    const ahead = new ReadAhead(file);
    class Reader extends RandomAccessReader {
      override _readStreamForRange(start: number, end: number): Readable {
        return Readable.from(bytesOf(file, start, end), { objectMode: false });
      }
      // The library reads the directory in ranges of some bytes.
      override read(
        buffer: Buffer,
        offset: number,
        length: number,
        position: number,
        done: (error: Error | null) => void,
      ): void {
        ahead.read(position, position + length).then((range) => {
          buffer.set(range, offset);
          done(null);
        }, done);
      }
    }
    try {
      const zip = await fromRandomAccessReaderPromise(new Reader(), file.size, {
        autoClose: false,
        // Names are only shown, never used as paths. Therefore names that the library would refuse are accepted.
        decodeStrings: false,
      });
      const archive = new ZipArchive(zip, file, limits);
      await archive.#readDirectory();
      return archive;
    } catch (error) {
      throw broken(error);
    }
  }

  /** Whether there is an entry of this name, or one that differs in case only. */
  has(name: string): boolean {
    return this.#entry(name) !== undefined;
  }

  /** How many bytes an entry has, as the directory states; 0 if it does not exist. */
  sizeOf(name: string): number {
    return this.#entry(name)?.uncompressedSize ?? 0;
  }

  /**
   * Unpacks an entry. An entry that does not exist is empty.
   *
   * @throws {UnreadableFile} if the archive is broken or encrypted
   * @throws {ReadingStopped} if it unpacks to more than the limit, or the time is over
   */
  async *read(name: string): AsyncGenerator<Uint8Array> {
    const entry = this.#entry(name);
    if (!entry) return;
    if (entry.isEncrypted()) throw new UnreadableFile('This document is encrypted.');
    let unpacked = 0;
    try {
      for await (const chunk of await this.zip.openReadStreamPromise(entry)) {
        this.count((chunk as Buffer).length);
        yield chunk as Buffer;
        unpacked += (chunk as Buffer).length;
      }
    } catch (error) {
      const where = `in ${code(name)}, after ${bytes(unpacked)} of ${bytes(entry.uncompressedSize)}`;
      throw error instanceof ReadingStopped ? error.at(where) : broken(error);
    }
  }

  /**
   * Counts bytes that are made of an entry.
   *
   * @throws {ReadingStopped} if they are more than the limit, or the time is over
   */
  count(length: number): void {
    const maxBytes = this.limits.expandedMiB * 1024 * 1024;
    this.#expanded += length;
    if (this.#expanded > maxBytes) throw unpackedTooMuch(maxBytes);
    this.file.checkTime();
  }

  #entry(name: string): Entry | undefined {
    return this.#found.get(name) ?? this.#folded.get(folded(name));
  }

  async #readDirectory(): Promise<void> {
    const found: Entry[] = [];
    try {
      for await (const entry of this.zip.eachEntry()) if (found.push(entry) >= this.limits.entries) break;
    } catch (error) {
      if (!(error instanceof ReadingStopped)) throw error;
      this.stopped = error;
    }
    await this.#addAll(found);
    const { length } = this.entries;
    if (length < this.zip.entryCount) {
      const why = this.stopped?.why ?? 'no more are read of one archive';
      const where = `after ${length.toLocaleString('en-US')} of ${this.zip.entryCount.toLocaleString('en-US')} entries`;
      this.stopped = new ReadingStopped(where, why);
    }
  }

  async #addAll(found: Entry[]): Promise<void> {
    const { getFileNameLowLevel } = (await import('yauzl')).default;
    const named = found.map((entry) => {
      const { fileNameRaw, extraFields, generalPurposeBitFlag } = entry;
      // Many programs write names in UTF-8 without the flag for it, and other names are hardly ever valid UTF-8.
      const name = getFileNameLowLevel(generalPurposeBitFlag | UTF_8, fileNameRaw, extraFields, false);
      return { entry, name, isUnicode: isUtf8(fileNameRaw) || !name.includes('\ufffd') };
    });
    const others = named.filter(({ isUnicode }) => !isUnicode).map(({ entry }) => entry.fileNameRaw);
    const encoding = await encodingOfNames(this.file.mimeType, others);
    if (others.length > 0) this.notes.push(...guessNote(encoding, 'names of entries are'));
    const decoder = decoderOf(encoding.label);
    for (const { entry, name, isUnicode } of named)
      this.#add(entry, isUnicode ? name : decoder.decode(entry.fileNameRaw));
  }

  #add(entry: Entry, name: string): void {
    this.entries.push({
      name,
      kind: name.endsWith('/') ? 'folder' : 'file',
      encrypted: entry.isEncrypted(),
      size: entry.uncompressedSize,
    });
    this.#found.set(name, entry);
    this.#folded.set(folded(name), entry);
  }
}

function folded(name: string): string {
  return name.replaceAll('\\', '/').toLowerCase();
}

function broken(error: unknown): unknown {
  if (error instanceof UnreadableFile || error instanceof ReadingStopped) return error;
  return new UnreadableFile(
    'This ZIP archive is broken or cut off: its directory or an entry cannot be read.',
  );
}
