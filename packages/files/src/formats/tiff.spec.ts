import type { FileSource } from '../file-source.js';
import { tiffFacts } from './tiff.js';

type Tag = [tag: number, ...values: number[]];

interface Form {
  isBig?: boolean;
  /** Where the directory behind the last one is. Default: there is none. */
  behind?: number;
  /** What the tags with texts have. */
  text?: string;
}

const TEXTS = 34737;

/** A TIFF file that has directories alone. Its numbers have 16 bits. */
function tiff(order: 'II' | 'MM', directories: Tag[][], { isBig = false, behind = 0, text = '' }: Form = {}) {
  const isLittle = order === 'II';
  const word = isBig ? 8 : 4;
  const size = isBig ? 20 : 12;
  const bytes = Buffer.alloc(64 * 1024);
  const put = (value: number, at: number, length: number) => {
    if (length === 8) bytes[isLittle ? 'writeBigUInt64LE' : 'writeBigUInt64BE'](BigInt(value), at);
    else bytes[isLittle ? 'writeUIntLE' : 'writeUIntBE'](value, at, length);
  };
  bytes.write(order, 'latin1');
  put(isBig ? 43 : 42, 2, 2);
  if (isBig) put(8, 4, 2);
  put(2 * word, word, word);
  let values = 32 * 1024;
  let at = 2 * word;
  for (const [index, tags] of directories.entries()) {
    const first = at + (isBig ? 8 : 2);
    put(tags.length, at, isBig ? 8 : 2);
    for (const [entry, [tag, ...numbers]] of tags.entries()) {
      const place = first + entry * size;
      const isText = tag === TEXTS;
      const count = isText ? text.length : numbers.length;
      put(tag, place, 2);
      put(isText ? 2 : 3, place + 2, 2);
      put(count, place + 4, word);
      const isInside = count * (isText ? 1 : 2) <= word;
      const target = isInside ? place + 4 + word : values;
      if (!isInside) put(values, place + 4 + word, word);
      if (isText) bytes.write(text, target, 'latin1');
      else for (const [number, value] of numbers.entries()) put(value, target + 2 * number, 2);
      if (!isInside) values += 2048;
    }
    at = first + tags.length * size;
    const isLast = index === directories.length - 1;
    put(isLast ? behind : at + word, at, word);
    at += word;
  }
  return factsOf(bytes);
}

function factsOf(bytes: Buffer): Promise<string[]> {
  const file: FileSource = {
    name: 'a.tif',
    mimeType: '',
    size: bytes.length,
    read: async (start, end) => bytes.subarray(start, end),
    checkTime: () => undefined,
  };
  return tiffFacts(file);
}

const RGB: Tag[] = [
  [258, 8, 8, 8],
  [277, 3],
];
const PAGE: Tag[] = [[254, 2]];
const SMALLER_COPY: Tag[] = [[254, 1]];
const MASK: Tag[] = [[254, 4]];

/** The keys of a map: the version, and four numbers for each key. */
const keys = (...numbers: number[]): Tag => [34735, 1, 1, 0, numbers.length / 4, ...numbers];

describe('A TIFF image', () => {
  it.each([
    ['II', false],
    ['MM', false],
    ['II', true],
    ['MM', true],
  ] as const)(
    'says its bands and pages, in the order %s, also with offsets of 64 bits (%s)',
    async (order, isBig) => {
      const directories = [RGB, PAGE, SMALLER_COPY, PAGE, MASK];
      expect(await tiff(order, directories, { isBig })).toEqual(['3 bands of 8 bits.', '3 pages.']);
    },
  );

  it('without facts has one band of one bit', async () => {
    expect(await tiff('II', [[]])).toEqual(['1 band of 1 bit.']);
  });

  it.each([
    ['its number', keys(3072, 0, 1, 32633), '', 'EPSG:32633'],
    ['its name and number', keys(3073, TEXTS, 5, 0, 3072, 0, 1, 32633), 'Rome|', '`Rome`, EPSG:32633'],
    [
      'the name of a map before that of the globe',
      keys(2049, TEXTS, 5, 0, 3073, TEXTS, 5, 5),
      'WGS |Rome|',
      '`Rome`',
    ],
    [
      'a system that is in no register',
      keys(3072, 0, 1, 32767, 2048, 0, 1, 4269, 1026, TEXTS, 5, 0),
      'Mine|',
      '`Mine`',
    ],
    ['a system of the globe', keys(2048, 0, 1, 4326), '', 'EPSG:4326'],
  ])('that is a map says its coordinate system: %s', async (_, geo, text, system) => {
    const directory: Tag[] = [...RGB, geo, [TEXTS]];
    expect(await tiff('II', [directory], { text })).toEqual([
      '3 bands of 8 bits.',
      `Coordinate system: ${system}.`,
    ]);
  });

  it('whose directories form a ring ends', async () => {
    expect(await tiff('II', [RGB, PAGE], { behind: 8 })).toEqual(['3 bands of 8 bits.', '3 pages.']);
  });

  it('that is broken has no facts', async () => {
    expect(await factsOf(Buffer.from('II'))).toEqual([]);
    expect(await factsOf(Buffer.from('II*\0\xff\xff\xff\xff', 'latin1'))).toEqual([]);
    expect(await tiff('II', [RGB], { behind: 4_000_000_000 })).toEqual(['3 bands of 8 bits.']);
  });
});
