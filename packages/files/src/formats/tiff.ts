import type { FileSource } from '../file-source.js';
import { code, count } from '../markdown.js';

/** Pages of one file that are counted, at most. */
const MOST_PAGES = 10_000;
/** Entries of one directory that are read, and bytes of one value, at most. */
const MOST_ENTRIES = 1_000;
const LONGEST = 16 * 1024;

/** Tags (TIFF 6.0, and GeoTIFF 1.1, OGC 19-008). */
const SUBFILE_TYPE = 254;
const BITS_PER_SAMPLE = 258;
const SAMPLES_PER_PIXEL = 277;
const GEO_KEYS = 34735;
const GEO_TEXTS = 34737;
/** What a directory is, as bits. */
const REDUCED = 1;
const MASK = 4;
/** Keys that name a coordinate system by a text, and by its number in the EPSG register: the projected one counts first. */
const CITATIONS = [3073, 1026, 2049];
const SYSTEMS = [3072, 2048];
/** The numbers of systems that are not in the register. */
const USER_DEFINED = 32767;

/** Bytes of a value of each type, which have numbers from 1; 0 for those that are not used. */
const SIZES = [1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8];

interface Entry {
  type: number;
  count: number;
  /** Where its values are. */
  at: number;
}

/** Sentences about a TIFF image: its pages, its bands, and the coordinate system of a map. None if its directories are broken. */
export async function tiffFacts(file: FileSource): Promise<string[]> {
  const tiff = await Tiff.open(file);
  const first = await tiff?.directory();
  if (!tiff || !first) return [];
  const [bands = 1] = await tiff.numbers(first.entries.get(SAMPLES_PER_PIXEL));
  const [bits = 1] = await tiff.numbers(first.entries.get(BITS_PER_SAMPLE));
  const system = await systemOf(tiff, first.entries);
  const pages = await pagesFrom(tiff, first.next);
  return [
    `${count(bands, 'band')} of ${count(bits, 'bit')}.`,
    ...(pages > 1 ? [`${count(pages, 'page')}.`] : []),
    ...(system === undefined ? [] : [`Coordinate system: ${system}.`]),
  ];
}

/** How many pages there are, with the first one. Smaller copies of a page and masks are none. */
async function pagesFrom(tiff: Tiff, start: number): Promise<number> {
  let pages = 1;
  const seen = new Set<number>();
  for (let next = start; next > 0 && !seen.has(next) && seen.size < MOST_PAGES;) {
    seen.add(next);
    const directory = await tiff.directory(next);
    if (!directory) break;
    const [kind = 0] = await tiff.numbers(directory.entries.get(SUBFILE_TYPE));
    if ((kind & (REDUCED | MASK)) === 0) pages++;
    ({ next } = directory);
  }
  return pages;
}

/** The name of the coordinate system, its number, or both, as Markdown; undefined if the image is no map. */
async function systemOf(tiff: Tiff, entries: Map<number, Entry>): Promise<string | undefined> {
  const [, , , , ...keys] = await tiff.numbers(entries.get(GEO_KEYS));
  const texts = await tiff.text(entries.get(GEO_TEXTS));
  const values = new Map<number, { place: number; length: number; value: number }>();
  for (let at = 0; at + 3 < keys.length; at += 4)
    values.set(keys[at]!, { place: keys[at + 1]!, length: keys[at + 2]!, value: keys[at + 3]! });
  const names = CITATIONS.map((key) => values.get(key)).filter((key) => key?.place === GEO_TEXTS);
  const [name] = names.map((key) => texts.slice(key!.value, key!.value + key!.length).replace(/\|?\0*$/, ''));
  const number = SYSTEMS.map((key) => values.get(key)?.value).find((value) => value !== undefined) ?? 0;
  const isRegistered = number > 0 && number < USER_DEFINED;
  const found = [name && code(name, 100), isRegistered && `EPSG:${number}`].filter(Boolean);
  return found.length > 0 ? found.join(', ') : undefined;
}

/** Reads the directories of a TIFF file, also of BigTIFF, whose offsets have 64 bits. */
class Tiff {
  private constructor(
    private readonly file: FileSource,
    private readonly isLittle: boolean,
    private readonly isBig: boolean,
  ) {}

  static async open(file: FileSource): Promise<Tiff | undefined> {
    const head = Buffer.from(await file.read(0, Math.min(file.size, 4)));
    if (head.length < 4) return undefined;
    const tiff = new Tiff(file, head[0] === 0x49, false);
    const version = tiff.#number(head, 2, 2);
    return version === 42 ? tiff : version === 43 ? new Tiff(file, tiff.isLittle, true) : undefined;
  }

  /**
   * The entries of a directory, and where the next one is (0: it is the last one); undefined if it is not in the file.
   *
   * @param at its offset. Default: that of the first one
   */
  async directory(at?: number): Promise<{ entries: Map<number, Entry>; next: number } | undefined> {
    const word = this.isBig ? 8 : 4;
    const start = at ?? (await this.#numberAt(word, word));
    const length = start === undefined ? undefined : await this.#numberAt(start, this.isBig ? 8 : 2);
    if (start === undefined || length === undefined || length > 65_535) return undefined;
    const size = this.isBig ? 20 : 12;
    const first = start + (this.isBig ? 8 : 2);
    const next = await this.#numberAt(first + length * size, word);
    if (next === undefined) return undefined;
    const entries = new Map<number, Entry>();
    const bytes = await this.#bytes(first, Math.min(length, MOST_ENTRIES) * size);
    for (let entry = 0; bytes && entry < bytes.length; entry += size) {
      const type = this.#number(bytes, entry + 2, 2);
      const values = this.#number(bytes, entry + 4, word);
      const place = entry + 4 + word;
      const isInside = values * (SIZES[type - 1] ?? 0) <= word;
      const at = isInside ? first + place : this.#number(bytes, place, word);
      entries.set(this.#number(bytes, entry, 2), { type, count: values, at });
    }
    return { entries, next };
  }

  /** Whole numbers of 16 or 32 bits; none for other types. */
  async numbers(entry: Entry | undefined): Promise<number[]> {
    const size = entry && (entry.type === 3 || entry.type === 4) ? SIZES[entry.type - 1]! : 0;
    const bytes = size > 0 ? await this.#bytes(entry!.at, Math.min(LONGEST, entry!.count * size)) : undefined;
    if (!bytes) return [];
    return Array.from({ length: bytes.length / size }, (_, index) => this.#number(bytes, index * size, size));
  }

  async text(entry: Entry | undefined): Promise<string> {
    if (entry?.type !== 2) return '';
    return (await this.#bytes(entry.at, Math.min(LONGEST, entry.count)))?.toString('latin1') ?? '';
  }

  async #numberAt(at: number, size: number): Promise<number | undefined> {
    const bytes = await this.#bytes(at, size);
    return bytes && this.#number(bytes, 0, size);
  }

  async #bytes(at: number, length: number): Promise<Buffer | undefined> {
    if (!Number.isSafeInteger(at) || at + length > this.file.size) return undefined;
    this.file.checkTime();
    return Buffer.from(await this.file.read(at, at + length));
  }

  #number(bytes: Buffer, at: number, size: number): number {
    if (size === 8) return Number(this.isLittle ? bytes.readBigUInt64LE(at) : bytes.readBigUInt64BE(at));
    return this.isLittle ? bytes.readUIntLE(at, size) : bytes.readUIntBE(at, size);
  }
}
