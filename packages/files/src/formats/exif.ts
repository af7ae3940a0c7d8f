import { code } from '../markdown.js';

/** Entries of one directory that are read; cameras write some fifty. */
const ENTRIES = 500;
const LONGEST_TEXT = 200;

/** Tags (EXIF 2.32, 4.6) by their number. */
const TEXTS: Record<number, string> = {
  0x010e: 'description',
  0x010f: 'make',
  0x0110: 'model',
  0x0132: 'changed',
  0x013b: 'artist',
  0x8298: 'copyright',
  0x9003: 'taken',
  0xa434: 'lens',
};
const RATIONALS: Record<number, string> = { 0x829a: 'exposure', 0x829d: 'aperture', 0x920a: 'focalLength' };
const ISO = 0x8827;
const PHOTO_DIRECTORY = 0x8769;
const GPS_DIRECTORY = 0x8825;

/** What precedes the TIFF block: in JPEG and HEIC, in PNG, and in WebP, where the size of the chunk is in between. */
const BEFORE = [
  { mark: 'Exif\0\0', skip: 6 },
  { mark: 'eXIf', skip: 4 },
  { mark: 'EXIF', skip: 8 },
];

/** Where and with what a picture was taken, as sentences, from its EXIF block; none if it has none, or a broken one. */
export function exifFacts(picture: Uint8Array, mimeType: string): string[] {
  const buffer = Buffer.from(picture.buffer, picture.byteOffset, picture.byteLength);
  const block = mimeType === 'image/tiff' ? buffer : blockIn(buffer);
  if (!block || !isTiff(block)) return [];
  return sentencesOf(new Tiff(block));
}

function blockIn(buffer: Buffer): Buffer | undefined {
  for (const { mark, skip } of BEFORE) {
    for (let at = buffer.indexOf(mark, 0, 'latin1'), tries = 0; at >= 0 && tries < 20; tries += 1) {
      const block = buffer.subarray(at + skip);
      if (isTiff(block)) return block;
      at = buffer.indexOf(mark, at + 1, 'latin1');
    }
  }
  return undefined;
}

function isTiff(block: Buffer): boolean {
  return ['II*\0', 'MM\0*'].includes(block.subarray(0, 4).toString('latin1'));
}

function sentencesOf(tiff: Tiff): string[] {
  const { texts, numbers } = tiff;
  const sentences: string[] = [];
  const camera = [texts.get('make'), texts.get('model')].filter((part) => part !== undefined).join(' ');
  if (camera) sentences.push(`Camera: ${code(camera)}.`);
  const taken = texts.get('taken') ?? texts.get('changed');
  if (taken) sentences.push(`${texts.has('taken') ? 'Taken' : 'Changed'}: ${code(dateOf(taken), 40)}.`);
  const settings: string[] = [];
  const exposure = numbers.get('exposure');
  if (exposure) settings.push(exposure < 0.5 ? `1/${Math.round(1 / exposure)} s` : `${rounded(exposure)} s`);
  if (numbers.has('aperture')) settings.push(`f/${rounded(numbers.get('aperture')!)}`);
  if (numbers.has('focalLength')) settings.push(`${rounded(numbers.get('focalLength')!)} mm`);
  if (numbers.has('iso')) settings.push(`ISO ${numbers.get('iso')}`);
  if (settings.length > 0) sentences.push(`${settings.join(', ')}.`);
  for (const [name, label] of [
    ['lens', 'Lens'],
    ['description', 'Description'],
    ['artist', 'Artist'],
    ['copyright', 'Copyright'],
  ] as const) {
    const text = texts.get(name);
    if (text) sentences.push(`${label}: ${code(text, LONGEST_TEXT)}.`);
  }
  if (tiff.place) sentences.push(`Place: ${tiff.place}.`);
  return sentences;
}

/** The directories of a TIFF block. What points outside of it is left out. */
class Tiff {
  readonly texts = new Map<string, string>();
  readonly numbers = new Map<string, number>();
  readonly #gps = new Map<number, number[] | string>();
  readonly #isLittle: boolean;

  constructor(private readonly block: Buffer) {
    this.#isLittle = block[0] === 0x49;
    for (const [tag, at] of this.#entries(this.#uint32(4))) {
      if (tag === PHOTO_DIRECTORY) this.#readTags(this.#uint32(at + 8));
      else if (tag === GPS_DIRECTORY) this.#readGps(this.#uint32(at + 8));
    }
    this.#readTags(this.#uint32(4));
  }

  /** Degrees of latitude and longitude; undefined if they are not known. */
  get place(): string | undefined {
    const degrees = [1, 3].map((tag) => {
      const [degree = NaN, minute = 0, second = 0] = (this.#gps.get(tag + 1) ?? []) as number[];
      const isNegative = /^[SW]/.test(String(this.#gps.get(tag) ?? ''));
      return (degree + minute / 60 + second / 3600) * (isNegative ? -1 : 1);
    });
    return degrees.every(Number.isFinite) ? degrees.map((degree) => degree.toFixed(5)).join(', ') : undefined;
  }

  #readTags(directory: number): void {
    for (const [tag, at] of this.#entries(directory)) {
      const text = TEXTS[tag];
      const rational = RATIONALS[tag];
      if (text !== undefined && !this.texts.has(text)) this.#note(text, this.#textAt(at));
      if (rational !== undefined) this.#noteNumber(rational, this.#rationals(at, 1)[0]);
      if (tag === ISO) this.#noteNumber('iso', this.#uint16(at + 8));
    }
  }

  #readGps(directory: number): void {
    for (const [tag, at] of this.#entries(directory)) {
      if (tag === 1 || tag === 3) this.#gps.set(tag, this.#textAt(at));
      if (tag === 2 || tag === 4) this.#gps.set(tag, this.#rationals(at, 3));
    }
  }

  #note(name: string, text: string): void {
    if (text.trim() !== '') this.texts.set(name, text.trim());
  }

  #noteNumber(name: string, value: number | undefined): void {
    if (value !== undefined && Number.isFinite(value) && value > 0) this.numbers.set(name, value);
  }

  /** Tag and offset of each entry of 12 bytes: tag, type, amount, value or its offset. */
  *#entries(directory: number): Generator<[number, number]> {
    const amount = Math.min(this.#uint16(directory), ENTRIES);
    for (let index = 0; index < amount; index += 1) {
      const at = directory + 2 + index * 12;
      if (at + 12 <= this.block.length) yield [this.#uint16(at), at];
    }
  }

  #textAt(at: number): string {
    const length = this.#uint32(at + 4);
    const start = length <= 4 ? at + 8 : this.#uint32(at + 8);
    const text = this.block.subarray(start, start + Math.min(length, LONGEST_TEXT));
    return text.toString('utf8').split('\0')[0]!;
  }

  #rationals(at: number, amount: number): number[] {
    if (this.#uint32(at + 4) < amount) return [];
    const start = this.#uint32(at + 8);
    return Array.from({ length: amount }, (_, index) => {
      return this.#uint32(start + index * 8) / this.#uint32(start + index * 8 + 4);
    });
  }

  #uint16(at: number): number {
    if (at + 2 > this.block.length) return 0;
    return this.#isLittle ? this.block.readUInt16LE(at) : this.block.readUInt16BE(at);
  }

  #uint32(at: number): number {
    if (at + 4 > this.block.length) return 0;
    return this.#isLittle ? this.block.readUInt32LE(at) : this.block.readUInt32BE(at);
  }
}

/** `2024:02:29 12:30:00` as `2024-02-29 12:30:00`. */
function dateOf(text: string): string {
  return text.replace(/^(\d{4}):(\d\d):(\d\d)/, '$1-$2-$3');
}

function rounded(value: number): string {
  return String(Number(value.toFixed(1)));
}
