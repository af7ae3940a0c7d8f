import { fileBytes } from '../../../test/support/read-tables.js';
import { readTableFile } from './index.js';

/** What is said of a file. */
async function factsOf(bytes: Uint8Array) {
  const found = await readTableFile(fileBytes(bytes), bytes.subarray(0, 65_536));
  return found && [found.title, ...found.facts];
}

/** A header of FITS, with as many blocks of data behind it. */
function fits(cards: string[], blocks = 0): Buffer {
  const text = [...cards, 'END'].map((card) => card.padEnd(80)).join('');
  const size = Math.ceil(text.length / 2880) * 2880;
  return Buffer.concat([Buffer.from(text.padEnd(size), 'latin1'), Buffer.alloc(2880 * blocks)]);
}

const FIRST = [
  'SIMPLE  =                    T',
  'BITPIX  =                    8',
  'NAXIS   =                    0',
];
const TABLE = [
  "XTENSION= 'BINTABLE'",
  'BITPIX  =                    8',
  'NAXIS   =                    2',
  'NAXIS1  =                  100 / bytes of a row',
  'NAXIS2  =                   30',
  'PCOUNT  =                    0',
  'TFIELDS =                    2',
  "TTYPE1  = 'TIME    '",
  "TTYPE2  = 'IT''S   '           / a name",
  "EXTNAME = 'EVENTS  '",
];
const FITS_NOT_READ = 'Its values are not read here: send what is needed of them as CSV or an image.';

describe('FITS data', () => {
  it('is described by the headers of its parts', async () => {
    const image = [
      "XTENSION= 'IMAGE   '",
      'BITPIX  =                  -32',
      'NAXIS   =                    2',
      'NAXIS1  =                   10',
      'NAXIS2  =                   20',
    ];
    const first = fits([...FIRST, "OBJECT  = 'M 31 / a' / galaxy", "DATE-OBS= '2024-02-29'"]);
    expect(await factsOf(Buffer.concat([first, fits(TABLE, 2), fits(image, 1)]))).toEqual([
      'FITS data',
      'Object: `M 31 / a`.',
      'Observed: `2024-02-29`.',
      "Table `EVENTS`: 30 rows of 2 columns (`TIME`, `IT'S`).",
      'Array: 10 × 20 numbers of 32 bits.',
      FITS_NOT_READ,
    ]);
  });

  it('in groups says how many there are', async () => {
    const cards = [
      'SIMPLE  =                    T',
      'BITPIX  =                   16',
      'NAXIS   =                    2',
      'NAXIS1  =                    0',
      'NAXIS2  =                    5',
      'GROUPS  =                    T',
      'PCOUNT  =                    1',
      'GCOUNT  =                    7',
    ];
    expect(await factsOf(fits(cards, 1))).toEqual([
      'FITS data',
      'Groups: 7 of 5 integers of 16 bits.',
      FITS_NOT_READ,
    ]);
  });

  it('with impossible sizes is read to the part that has them', async () => {
    const behind = [...TABLE.filter((card) => !card.startsWith('PCOUNT')), 'PCOUNT  =            -99999999'];
    const facts = await factsOf(Buffer.concat([fits(FIRST), fits(behind, 2), fits(TABLE, 2)]));
    expect(facts?.filter((fact) => fact.startsWith('Table'))).toHaveLength(2);
    const huge = [...TABLE.filter((card) => !card.startsWith('NAXIS2')), 'NAXIS2  =     9007199254740991'];
    expect((await factsOf(Buffer.concat([fits(FIRST), fits(huge, 1)])))?.at(-2)).toBe('The file is cut off.');
  });

  it('that is cut off says so, and what has no end of a header is refused', async () => {
    const cut = Buffer.concat([fits(FIRST), fits(TABLE, 1)]);
    expect((await factsOf(cut))?.at(-2)).toBe('The file is cut off.');
    const endless = Buffer.from(FIRST.map((card) => card.padEnd(80)).join(''));
    await expect(factsOf(endless)).rejects.toThrow('This FITS file is broken or cut off.');
  });
});

/** An array of NumPy of version 1, without its values. */
function npy(header: string): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16LE(header.length);
  return Buffer.concat([Buffer.from('\x93NUMPY\x01\0', 'latin1'), length, Buffer.from(header)]);
}

describe('An array of NumPy', () => {
  it.each([
    ["{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }", '3 × 4 numbers of 64 bits.'],
    ["{'descr': '|b1', 'fortran_order': False, 'shape': (7,), }", '7 booleans.'],
    [
      "{'descr': '>u2', 'fortran_order': True, 'shape': (), }",
      'One value (integers without a sign of 16 bits).',
    ],
    ["{'descr': '<M8[D]', 'fortran_order': False, 'shape': (2,), }", '2 times.'],
    ["{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", '2 Python objects.'],
    [
      "{'descr': [('id', '<i4'), ('name', '<U3')], 'fortran_order': False, 'shape': (9,), }",
      '9 records (`id`, `name`).',
    ],
  ])('is described by its header: %s', async (header, about) => {
    expect(await factsOf(npy(header))).toEqual([
      'NumPy array',
      about,
      'Its values are not read here: send what is needed of them as CSV.',
    ]);
  });

  it('without a header is not described', async () => {
    expect(await factsOf(npy('nothing'))).toBeUndefined();
    expect(await factsOf(Buffer.from('\x93NUMPY', 'latin1'))).toBeUndefined();
  });
});

const int32 = (...values: number[]) =>
  Buffer.concat(
    values.map((value) =>
      Buffer.from([value >>> 24, value >>> 16, value >>> 8, value].map((byte) => byte & 255)),
    ),
  );
const padded = (text: string) => Buffer.from(text.padEnd(Math.ceil(text.length / 4) * 4, '\0'));
const named = (text: string) => Buffer.concat([int32(text.length), padded(text)]);
const attribute = (name: string, value: string) => Buffer.concat([named(name), int32(2), named(value)]);

/** A header of NetCDF in its first format. */
function netcdf(records: number): Buffer {
  return Buffer.concat([
    Buffer.from('CDF\x01'),
    int32(records),
    int32(10, 2),
    named('time'),
    int32(0),
    named('lat'),
    int32(3),
    int32(12, 1),
    attribute('title', 'Air'),
    int32(11, 2),
    named('crs'),
    int32(0, 0, 0, 4, 4, 0),
    named('air'),
    int32(2, 0, 1, 12, 2),
    attribute('long_name', 'Air temperature'),
    attribute('units', 'K'),
    int32(5, 12, 0),
  ]);
}

describe('NetCDF data', () => {
  it('is described by its header', async () => {
    expect(await factsOf(netcdf(4))).toEqual([
      'NetCDF data',
      'Title: `Air`.',
      'Dimensions: `time` 4 (it can grow), `lat` 3.',
      'Variables: `crs`, `air` of `time` × `lat` (`Air temperature` in `K`).',
      'Its values are not read here: send what is needed of them as CSV or JSON.',
    ]);
  });

  it('of unknown length says so', async () => {
    expect((await factsOf(netcdf(0xffffffff)))?.[2]).toBe('Dimensions: `time` of unknown length, `lat` 3.');
  });

  it('that is cut off, or says to be longer than it is, is refused', async () => {
    const whole = netcdf(4);
    for (const end of [20, 40, 60, 100, whole.length - 1])
      await expect(factsOf(whole.subarray(0, end))).rejects.toThrow('This NetCDF file is broken or cut off.');
    await expect(factsOf(Buffer.from(whole).fill(0xff, 12, 16))).rejects.toThrow('broken or cut off');
  });
});
