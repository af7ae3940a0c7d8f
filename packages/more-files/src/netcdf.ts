import { quoted } from './column-notes.js';
import type { FileBytes } from './file-bytes.js';
import type { ReadFile } from './read-table.js';
import { UnreadableTableFile } from './unreadable-table-file.js';

/** Bytes of a header that are read, at most. */
const LARGEST = 4 * 1024 * 1024;
/** Variables that are described, at most. */
const DESCRIBED = 20;
const BROKEN = 'This NetCDF file is broken or cut off.';
const NOT_READ = 'Its values are not read here: send what is needed of them as CSV or JSON.';

const VERSIONS = [1, 2, 5];
/** Tags of the lists of a header. */
const DIMENSIONS = 10;
const VARIABLES = 11;
const ATTRIBUTES = 12;
/** Bytes of a value of each type, which have numbers from 1. */
const SIZES = [1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8];
const TEXT = 2;

interface Variable {
  name: string;
  dimensions: number[];
  attributes: Map<string, string>;
}

/**
 * Describes a file of NetCDF in one of its three classic formats (NetCDF File Format Specifications, CDF-1, CDF-2 and CDF-5) by its
 * header. NetCDF-4 is HDF5, which is another format.
 *
 * @throws {UnreadableTableFile} the header is broken or cut off
 */
export async function readNetcdf(file: FileBytes, head: Uint8Array): Promise<ReadFile | undefined> {
  const version = head[3];
  const isNetcdf = Buffer.from(head).toString('latin1', 0, 3) === 'CDF' && VERSIONS.includes(version!);
  if (!isNetcdf) return undefined;
  const bytes = Buffer.from(await file.read(0, Math.min(file.size, LARGEST)));
  const header = new Header(bytes, version!);
  const facts = factsOf(header);
  return facts.length === 0 ? undefined : { title: 'NetCDF data', facts: [...facts, NOT_READ], tables: [] };
}

function factsOf(header: Header): string[] {
  const records = header.count();
  const dimensions = header.list(DIMENSIONS, () => ({ name: header.text(), size: header.count() }));
  const attributes = header.attributes();
  const variables = header.list(VARIABLES, () => header.variable());
  const title = attributes.get('title');
  const sizes = dimensions.map(({ name, size }) =>
    size === 0
      ? `${quoted(name)} ${isStreamed(records) ? 'of unknown length' : `${records} (it can grow)`}`
      : `${quoted(name)} ${size}`,
  );
  const shown = variables.slice(0, DESCRIBED).map(({ name, dimensions: ids, attributes: own }) => {
    const axes = ids.map((id) => quoted(dimensions[id]?.name ?? '?')).join(' × ');
    const [says, unit] = [own.get('long_name') ?? own.get('standard_name'), own.get('units')];
    const about = [says && quoted(says), unit && `in ${quoted(unit)}`].filter(Boolean).join(' ');
    return `${quoted(name)}${axes && ` of ${axes}`}${about && ` (${about})`}`;
  });
  const rest = variables.length > DESCRIBED ? `, and ${variables.length - DESCRIBED} more` : '';
  return [
    ...(title ? [`Title: ${quoted(title)}.`] : []),
    ...(sizes.length > 0 ? [`Dimensions: ${sizes.join(', ')}.`] : []),
    ...(shown.length > 0 ? [`Variables: ${shown.join(', ')}${rest}.`] : []),
  ];
}

/** A program that wrote the records one after another did not know how many there would be. */
function isStreamed(records: number): boolean {
  return records === 0xffffffff || !Number.isSafeInteger(records);
}

/** Reads the members of a header one after another. */
class Header {
  #at = 4;

  constructor(
    private readonly bytes: Buffer,
    private readonly version: number,
  ) {}

  /** A count of CDF-5 has 64 bits. */
  count(): number {
    if (this.version !== 5) return this.#number();
    return Number(this.#take(8).readBigUInt64BE());
  }

  text(): string {
    return this.#padded(this.count()).toString('utf8');
  }

  list<T>(tag: number, read: () => T): T[] {
    const found = this.#number();
    const count = this.count();
    if (found === 0 && count === 0) return [];
    // Each member takes four bytes at least.
    if (found !== tag || count > this.bytes.length / 4) throw new UnreadableTableFile(BROKEN);
    return Array.from({ length: count }, read);
  }

  attributes(): Map<string, string> {
    return new Map(this.list(ATTRIBUTES, () => this.#attribute()));
  }

  variable(): Variable {
    const name = this.text();
    const count = this.count();
    if (count > this.bytes.length / 4) throw new UnreadableTableFile(BROKEN);
    const dimensions = Array.from({ length: count }, () => this.count());
    const attributes = this.attributes();
    // The type, the size, and where the values begin.
    this.#take(4 + (this.version === 5 ? 8 : 4) + (this.version === 1 ? 4 : 8));
    return { name, dimensions, attributes };
  }

  #attribute(): [name: string, value: string] {
    const name = this.text();
    const type = this.#number();
    const size = SIZES[type - 1];
    if (size === undefined) throw new UnreadableTableFile(BROKEN);
    const value = this.#padded(this.count() * size);
    return [name, type === TEXT ? value.toString('utf8').replace(/\0+$/, '').trim() : ''];
  }

  #padded(length: number): Buffer {
    return this.#take(Math.ceil(length / 4) * 4).subarray(0, length);
  }

  #number(): number {
    return this.#take(4).readUInt32BE();
  }

  #take(length: number): Buffer {
    const start = this.#at;
    this.#at += length;
    if (this.#at > this.bytes.length) throw new UnreadableTableFile(BROKEN);
    return this.bytes.subarray(start, this.#at);
  }
}
