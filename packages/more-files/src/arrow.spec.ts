import { brotliDecompressSync } from 'node:zlib';
import * as arrow from 'apache-arrow';
import { fileBytes, readOne } from '../../../test/support/read-tables.js';
import { readArrow } from './arrow.js';

const SECOND = 1_700_000_000n;

/** A column of a type with its values as they are stored. */
function stored(type: arrow.DataType, data: ArrayLike<number | bigint>): arrow.Vector {
  return new arrow.Vector([arrow.makeData({ type, data } as never)]);
}

function table(columns: Record<string, arrow.Vector>): arrow.Table {
  return new arrow.Table(columns as never);
}

const list = (type: arrow.DataType) => new arrow.List(new arrow.Field('item', type, true));

/** The first rows of a column of this type, which is written and read again. */
async function cellsOf(column: arrow.Vector): Promise<(string | null)[]> {
  const { rows } = await readOne(readArrow, arrow.tableToIPC(table({ column }), 'file'));
  return rows.map(([cell]) => cell!);
}

describe('Values of Arrow files are written as the agent reads them:', () => {
  it.each<[string, arrow.Vector, (string | null)[]]>([
    ['8 bits', stored(new arrow.Int8(), Int8Array.of(-128, 127)), ['-128', '127']],
    [
      '64 bits with all digits',
      stored(new arrow.Int64(), BigInt64Array.of(-(2n ** 63n), 2n ** 63n - 1n)),
      ['-9223372036854775808', '9223372036854775807'],
    ],
    [
      '64 bits without a sign',
      stored(new arrow.Uint64(), BigUint64Array.of(2n ** 64n - 1n)),
      ['18446744073709551615'],
    ],
    ['half precision', stored(new arrow.Float16(), Uint16Array.of(0x3800, 0xc500)), ['0.5', '-5']],
    [
      'single precision, in its shortest form',
      stored(new arrow.Float32(), Float32Array.of(0.1, 16777216, 3.4028235e38)),
      ['0.1', '16777216', '3.4028235e+38'],
    ],
    ['double precision', stored(new arrow.Float64(), Float64Array.of(0.1, 1e21)), ['0.1', '1e+21']],
    [
      'decimals with all digits',
      stored(
        new arrow.Decimal(2, 38),
        Uint32Array.of(0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 5, 0, 0, 0, 1, 0, 1, 0),
      ),
      ['-0.01', '0.05', '184467440737095516.17'],
    ],
    ['booleans', arrow.vectorFromArray([true, false, null]), ['TRUE', 'FALSE', null]],
    ['texts', arrow.vectorFromArray(['é', '', null], new arrow.Utf8()), ['é', '', null]],
    ['long texts', arrow.vectorFromArray(['a'], new arrow.LargeUtf8()), ['a']],
    [
      'repeated texts',
      arrow.vectorFromArray(['x', 'y', null, 'x'], new arrow.Dictionary(new arrow.Utf8(), new arrow.Int8())),
      ['x', 'y', null, 'x'],
    ],
    [
      'days',
      stored(new arrow.DateDay(), Int32Array.of(0, -1, 19_723)),
      ['1970-01-01', '1969-12-31', '2024-01-01'],
    ],
    [
      'days in milliseconds',
      stored(new arrow.DateMillisecond(), BigInt64Array.of(86_400_000n, -1n)),
      ['1970-01-02', '1969-12-31T23:59:59.999'],
    ],
    [
      'times in seconds',
      stored(new arrow.TimestampSecond(), BigInt64Array.of(SECOND)),
      ['2023-11-14T22:13:20'],
    ],
    [
      'times in nanoseconds, before 1970 too',
      stored(new arrow.TimestampNanosecond(), BigInt64Array.of(SECOND * 10n ** 9n + 1n, -1000n)),
      ['2023-11-14T22:13:20.000000001', '1969-12-31T23:59:59.999999'],
    ],
    [
      'times of a zone, in UTC',
      stored(new arrow.TimestampMicrosecond('Europe/Oslo'), BigInt64Array.of(SECOND * 1_000_000n)),
      ['2023-11-14T22:13:20Z'],
    ],
    [
      'times of a day',
      stored(new arrow.TimeMicrosecond(), BigInt64Array.of(3_661_000_100n)),
      ['01:01:01.0001'],
    ],
    [
      'durations',
      stored(new arrow.DurationSecond(), BigInt64Array.of(108_300n, -5n)),
      ['30:05:00', '-00:00:05'],
    ],
    [
      'intervals',
      stored(new arrow.IntervalMonthDayNano(), Int32Array.of(1, 2, 5e8, 0)),
      ['P1M2DT0.500000000S'],
    ],
    [
      'lists as JSON',
      arrow.vectorFromArray([['a"', null], [], null], list(new arrow.Utf8())),
      ['["a\\"",null]', '[]', null],
    ],
    [
      'numbers in lists',
      arrow.vectorFromArray([[2n ** 60n]], list(new arrow.Int64())),
      ['[1152921504606846976]'],
    ],
    [
      'structures as JSON',
      arrow.vectorFromArray(
        [{ n: 1, ok: true }],
        new arrow.Struct([new arrow.Field('n', new arrow.Int32()), new arrow.Field('ok', new arrow.Bool())]),
      ),
      ['{"n":1,"ok":true}'],
    ],
    [
      'bytes as their number',
      arrow.vectorFromArray([Uint8Array.of(1, 2)], new arrow.Binary()),
      ['(2 bytes)'],
    ],
  ])('%s', async (_, column, cells) => {
    expect(await cellsOf(column)).toEqual(cells);
  });

  it('what is no number or no date is missing, and is counted', async () => {
    const columns = {
      size: stored(new arrow.Float64(), Float64Array.of(NaN, Infinity, 1)),
      born: stored(new arrow.TimestampSecond(), BigInt64Array.of(2n ** 62n, 0n, 0n)),
      read: stored(new arrow.TimestampNanosecond(), BigInt64Array.of(1n, 1000n, 2000n)),
    };
    const { rows, notes } = await readOne(readArrow, arrow.tableToIPC(table(columns), 'file'));
    expect(rows.map((row) => row.slice(0, 2))).toEqual([
      [null, null],
      [null, '1970-01-01T00:00:00'],
      ['1', '1970-01-01T00:00:00'],
    ]);
    expect(notes.toSorted()).toEqual([
      '2 values of `size` are no finite number, read as missing.',
      'One value of `born` is no date of the calendar, read as missing.',
      'One value of `read` is more exact than a microsecond, which is the most that statements know.',
    ]);
  });

  it('a note says what a time zone and bytes are shown as', async () => {
    const columns = {
      'at`': stored(new arrow.TimestampSecond('Europe/Oslo'), BigInt64Array.of(0n)),
      photo: arrow.vectorFromArray([Uint8Array.of(1)], new arrow.Binary()),
    };
    const { notes } = await readOne(readArrow, arrow.tableToIPC(table(columns), 'file'));
    expect(notes).toEqual([
      'The times of `at ` are shown in UTC; their zone is `Europe/Oslo`.',
      'Of the bytes in `photo`, only their number is shown.',
    ]);
  });
});

/** Files that Polars 0.25 wrote. */
const PACKED = {
  lz4: 'G8oDAB6JcSzKRolX8fC13+vZ929mNvzyAwVgRywJdKYKWZEwgEJWtTayJAzLagDYipONf1seR/QsET0GmiZBdyMNgGY8o90AdDAgmNsY0XGGSxwGza67asuWjTsXUEq5hcDnUvoQEtq0y9qEn6V0IMsIFZYiMFTKdNTISBXwtZTxSMhahSzhAN6WMhvjMRxpOLWmUOuR0QH+lhJCwH5CQb1EaJ16ZQL6EBo69Ko1dQgvSgnAVSzEbAwH0GW00KHWZ7iEBHh4VgsAxgNWAtYB7gJWAiQAQALmAaBCABIgAAAJEBPXD9+28nbi7A8946cAV0FfSWMXTcWVYRgcv2u3JNeMdiGw8ei+g+PkyiZw9tGhsXDm5omTRp+rhwn4n8FvdGzwWmWifZhNfHHOnV/B+YffaxozNWcTKjTwssHFd89PowDMDABYKKT5jwhZh4QhwEfAygQA9iEeYZEB',
  zstd: 'G4oDKB6HsePllMJS/EiiCKK1smavnwgVsFBAiSQLJMxH+OjoFyYgX9gIEw0AU01pBfBvy+M3ijjDNEw4CZKESgA6H5AOCIcwN7iyxJLknwb8uruHh3uXlshzPkfg87kVIaFajUrVws9zLSpVIhTYQOBZnifRiEqkAvh6HkRCpSqhUsItvM3zLAbRidRJo2ahUZNK1IK/5xACAQFZ+RJh+7GTgFaEklotGjWrFV7kOQAPsYJJdAKo1yvUatSqU0IC/D4n5cqEMgA0A3YAy4AzwDzgAgBwARgCQIEAJEAAABJg8vHCP5er+IFzx3JkXXLegauD1+tAYO/+jdvhzJX74xVdKwW4+fKOZ1cH3+TY1bOpjZSTx48A17jQAxIKlPCyhMhd6bSDFUDzOyJUqpXwDPARIAGAQftzbBE=',
};

describe('Record batches of Arrow files', () => {
  it.each(Object.entries(PACKED))('are unpacked: %s', async (_, packed) => {
    const { rows } = await readOne(readArrow, brotliDecompressSync(Buffer.from(packed, 'base64')));
    expect(rows).toEqual([
      ['a city with a long name', '1'],
      ['a city with a long name', '2'],
      ['Oslo', '3'],
      [null, '1000'],
    ]);
  });

  it.each(['file', 'stream'] as const)('are read one after the other: %s', async (form) => {
    const parts = [[1, 2], [], [3]].map((values) =>
      table({ n: arrow.vectorFromArray(values, new arrow.Int32()) }),
    );
    const bytes = arrow.tableToIPC(parts[0]!.concat(...parts.slice(1)), form);
    const { title, columns, rows, notes } = await readOne(readArrow, bytes);
    expect(title).toBe(form === 'file' ? 'Arrow file (Feather)' : 'Arrow stream');
    expect({ columns, rows, notes }).toEqual({ columns: ['n'], rows: [['1'], ['2'], ['3']], notes: [] });
  });

  it('may be none', async () => {
    const { schema } = table({ n: arrow.vectorFromArray([1]) });
    const { columns, rows } = await readOne(readArrow, arrow.tableToIPC(new arrow.Table(schema), 'file'));
    expect({ columns, rows }).toEqual({ columns: ['n'], rows: [] });
  });
});

describe('Arrow files that cannot be read are refused with a reason:', () => {
  const good = arrow.tableToIPC(table({ n: arrow.vectorFromArray([1, 2, 3], new arrow.Int32()) }), 'file');
  const stream = arrow.tableToIPC(
    table({ n: arrow.vectorFromArray([1, 2, 3], new arrow.Int32()) }),
    'stream',
  );

  it('one that is cut off', async () => {
    await expect(readOne(readArrow, good.subarray(0, -20))).rejects.toThrow(
      'The end of this Arrow file is missing',
    );
    await expect(readOne(readArrow, stream.subarray(0, -20))).rejects.toThrow('This Arrow file is broken');
  });

  it.each([
    ['in its end mark', 4, [['1'], ['2'], ['3']]],
    ['before its first batch', 304 - 136, []],
  ])('a stream that is cut off %s is read, and says so', async (_, missing, expected) => {
    const { rows, notes } = await readOne(readArrow, stream.subarray(0, -missing));
    expect(rows).toEqual(expected);
    expect(notes).toEqual(['The end mark of the Arrow stream is missing: rows may be missing, too.']);
  });

  it('one whose batch is too large for the memory', async () => {
    const bytes = arrow.tableToIPC(table({ n: stored(new arrow.Int32(), new Int32Array(1234)) }), 'stream');
    const length = Buffer.alloc(8);
    length.writeBigInt64LE(4936n);
    const at = Buffer.from(bytes).indexOf(length);
    new DataView(bytes.buffer, bytes.byteOffset).setBigInt64(at, 1n << 28n, true);
    const size = 1 << 29;
    await expect(
      readOne(readArrow, bytes, {
        size,
        read: async (start, end) => bytes.slice(start, Math.min(end, size)),
      }),
    ).rejects.toThrow('A record batch of this Arrow file is larger than 128 MiB');
  });

  it('an error of who reads the bytes is passed on', async () => {
    const read = async (start: number, end: number) => {
      if (start > 0 && end < good.length) throw new Error('The time is over.');
      return good.slice(start, end);
    };
    await expect(readOne(readArrow, good, { read })).rejects.toThrow('The time is over.');
    const checkTime = () => {
      throw new Error('There is no more time.');
    };
    await expect(readOne(readArrow, good, { checkTime })).rejects.toThrow('There is no more time.');
  });

  it('other files are not taken for Arrow', async () => {
    const text = Buffer.from('ARROW2 is no signature, and this is a text.');
    expect(await readArrow(fileBytes(text), text)).toBeUndefined();
  });
});
