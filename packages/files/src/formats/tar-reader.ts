import { isUtf8 } from 'node:buffer';
import { UnreadableFile } from '../unreadable-file.js';
import type { ArchiveEntry } from './archive.js';
import { ByteQueue } from './byte-queue.js';
import { decoderOf } from './code-pages.js';
import type { Encoding } from './code-pages.js';
import { certainEncoding, guessedEncoding, guessNote } from './encoding.js';

/** One entry of a tar archive. A sparse file has more bytes than the archive holds. */
export interface TarEntry extends ArchiveEntry {
  /** Bytes that the archive holds of it. */
  stored: number;
  isSparse: boolean;
}

const BLOCK = 512;
/** Bytes of a long name or of extended attributes that are read. */
const LONGEST_EXTENSION = 1024 * 1024;

const KINDS = new Map<string, TarEntry['kind']>([
  ['1', 'link'],
  ['2', 'link'],
  ['3', 'special'],
  ['4', 'special'],
  ['5', 'folder'],
  ['6', 'special'],
  ['D', 'folder'],
  ['V', 'special'],
]);
/** Types whose header may state a size although no contents follow (POSIX.1, ustar). */
const WITHOUT_CONTENTS = '123456V';

/** What headers before an entry say about it. */
interface Extension {
  name?: string;
  stored?: number;
  size?: number;
}

/**
 * Reads the entries of a tar archive (POSIX.1 ustar and pax, GNU, and the older v7, Solaris and star) from its bytes. What is
 * not needed to list the entries is not interpreted: a field that only an unpacker needs cannot make an archive unreadable.
 */
export class TarReader {
  /** Whether the mark that ends an archive has been read. */
  hasEnd = false;
  readonly #bytes: ByteQueue;
  /** Bytes of contents and padding before the next header. */
  #left = 0;
  #padding = 0;

  /** The encoding of names that are not UTF-8: that of the first of them. */
  #encoding: Encoding | undefined;

  /** @param mimeType of the archive; its `charset` is that of names which are not UTF-8 */
  constructor(
    chunks: AsyncIterable<Uint8Array>,
    private readonly mimeType = '',
  ) {
    this.#bytes = new ByteQueue(chunks);
  }

  /** Sentences about what was guessed up to here. */
  get notes(): string[] {
    return this.#encoding ? guessNote(this.#encoding, 'names of entries are') : [];
  }

  /** @throws {UnreadableFile} if the archive is broken or ends within an entry */
  async *entries(): AsyncGenerator<TarEntry> {
    let globals: Extension = {};
    let extension: Extension = {};
    for (;;) {
      await this.#skip(this.#left + this.#padding);
      const block = await this.#bytes.take(BLOCK);
      if (block.length === 0) return;
      if (block.length < BLOCK) throw broken();
      if (isZero(block)) {
        const next = await this.#bytes.take(BLOCK);
        if (next.length < BLOCK || isZero(next)) {
          this.hasEnd = true;
          return await this.#bytes.drain();
        }
        throw broken();
      }
      if (!hasChecksum(block)) throw broken();
      const type = String.fromCharCode(block[156]!);
      this.#expect(numberAt(block, 124, 12));
      if (type === 'g') globals = { ...globals, ...(await this.#records()) };
      else if (type === 'x' || type === 'X') extension = { ...extension, ...(await this.#records()) };
      else if (type === 'L') extension.name = await this.#nameIn(await this.#extension());
      else if (type === 'K') await this.#extension();
      else {
        yield await this.#entry(block, type, { ...globals, ...extension });
        extension = {};
      }
    }
  }

  /** The contents of the entry that was read last. Must be read before the next entry is. */
  async *contents(): AsyncGenerator<Uint8Array> {
    while (this.#left > 0) {
      const chunk = await this.#bytes.some(this.#left);
      if (chunk.length === 0) throw broken();
      this.#left -= chunk.length;
      yield chunk;
    }
  }

  async #entry(block: Uint8Array, type: string, extension: Extension): Promise<TarEntry> {
    const name = extension.name ?? (await this.#nameOf(block));
    const isFolder = type === '5' || (name.endsWith('/') && '\0' === type);
    const kind = isFolder ? 'folder' : (KINDS.get(type) ?? 'file');
    const isEmpty = isFolder || WITHOUT_CONTENTS.includes(type);
    const stored = isEmpty ? 0 : (extension.stored ?? this.#left);
    const sparse = type === 'S' ? numberAt(block, 483, 12) : extension.size;
    // Further maps of an old sparse file follow its header. Each says whether another one follows.
    for (let next = type === 'S' && block[482] === 1; next;) {
      const map = await this.#bytes.take(BLOCK);
      if (map.length < BLOCK) throw broken();
      next = map[504] === 1;
    }
    this.#expect(stored);
    return { name, kind, size: sparse ?? stored, stored, isSparse: sparse !== undefined };
  }

  async #nameOf(block: Uint8Array): Promise<string> {
    const name = await this.#nameIn(block.subarray(0, 100));
    const isUstar = latin1(block.subarray(257, 263)) === 'ustar\0';
    const prefix = isUstar ? await this.#nameIn(block.subarray(345, 500)) : '';
    return prefix === '' ? name : `${prefix}/${name}`;
  }

  /** A name up to the first zero. Old archives have names in another encoding than UTF-8, and do not say in which. */
  async #nameIn(bytes: Uint8Array): Promise<string> {
    const end = bytes.indexOf(0);
    const name = end < 0 ? bytes : bytes.subarray(0, end);
    if (isUtf8(name)) return Buffer.from(name).toString();
    this.#encoding ??= certainEncoding(this.mimeType, name, true) ?? (await guessedEncoding(name));
    return decoderOf(this.#encoding?.label ?? 'windows-1252').decode(name, { stream: true });
  }

  /** The records of a pax header that matter here: `<length> <key>=<value>\n`. A damaged record ends them. */
  async #records(): Promise<Extension> {
    const content = await this.#extension();
    const extension: Extension = {};
    for (let start = 0; start < content.length;) {
      const record = /^(\d{1,7}) ([^=]{1,200})=/.exec(latin1(content.subarray(start, start + 220)));
      const length = Number(record?.[1] ?? 0);
      if (!record || length <= record[0].length) break;
      const value = content.subarray(start + record[0].length, start + length - 1);
      const number = /^\d{1,15}$/.exec(latin1(value.subarray(0, 20)))?.[0];
      const key = record[2]!;
      if (key === 'path' && extension.name === undefined) extension.name = await this.#nameIn(value);
      if (key === 'GNU.sparse.name') extension.name = await this.#nameIn(value);
      if (key === 'size' && number !== undefined) extension.stored = Number(number);
      if (/^GNU\.sparse\.(real)?size$/.test(key) && number !== undefined) extension.size = Number(number);
      start += length;
    }
    return extension;
  }

  #expect(length: number): void {
    this.#left = length;
    this.#padding = (BLOCK - (length % BLOCK)) % BLOCK;
  }

  async #extension(): Promise<Uint8Array> {
    if (this.#left > LONGEST_EXTENSION) throw broken();
    const content = await this.#bytes.take(this.#left);
    if (content.length < this.#left) throw broken();
    this.#left = 0;
    return content;
  }

  async #skip(length: number): Promise<void> {
    if ((await this.#bytes.skip(length)) < length) throw broken();
  }
}

function broken(): UnreadableFile {
  return new UnreadableFile('This tar archive is broken or cut off.');
}

function isZero(block: Uint8Array): boolean {
  return block.every((byte) => byte === 0);
}

/** The sum of all bytes of a header, with spaces for the sum itself. Some old programs add signed bytes. */
function hasChecksum(block: Uint8Array): boolean {
  let unsigned = 0;
  let signed = 0;
  block.forEach((byte, index) => {
    const value = index >= 148 && index < 156 ? 32 : byte;
    unsigned += value;
    signed += value > 127 ? value - 256 : value;
  });
  const stated = numberAt(block, 148, 8);
  return stated === unsigned || stated === signed;
}

/** An octal number, or a binary one whose first byte is 0x80 (GNU). */
function numberAt(block: Uint8Array, start: number, length: number): number {
  const field = block.subarray(start, start + length);
  let value = 0;
  if (field[0] === 0x80) field.subarray(1).forEach((byte) => (value = value * 256 + byte));
  else {
    const digits = latin1(field).split('\0')[0]!.trim();
    value = /^[0-7]*$/.test(digits) ? Number(`0o${digits || '0'}`) : NaN;
  }
  if (!Number.isSafeInteger(value)) throw broken();
  return value;
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1');
}
