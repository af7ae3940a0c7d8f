import { fileBytes, readOne } from '../../../test/support/read-tables.js';
import { readDbase } from './dbase.js';

type Field = [name: string, type: string, length: number, decimals?: number, flags?: number];

interface Options {
  version?: number;
  language?: number;
  /** What the header says, if it is wrong. */
  records?: number;
}

/** A table whose records are as they are stored, without the byte for deleted ones. */
function dbf(fields: Field[], records: (string | Buffer)[][], options: Options = {}): Buffer {
  const header = Buffer.alloc(32);
  header.set([options.version ?? 0x03, 124, 2, 29]);
  header.writeUInt32LE(options.records ?? records.length, 4);
  header.writeUInt16LE(32 + 32 * fields.length + 1, 8);
  header.writeUInt16LE(1 + fields.reduce((sum, [, , length]) => sum + length, 0), 10);
  header[29] = options.language ?? 0;
  const descriptors = fields.map(([name, type, length, decimals = 0, flags = 0]) => {
    const descriptor = Buffer.alloc(32);
    descriptor.write(name, 'latin1');
    descriptor.write(type, 11);
    descriptor.set([length % 256, decimals || length >> 8, flags], 16);
    return descriptor;
  });
  const rows = records.map((cells) =>
    Buffer.concat(cells.map((cell) => (typeof cell === 'string' ? Buffer.from(cell, 'latin1') : cell))),
  );
  const marked = rows.map((row, index) =>
    records[index]![0] === '*' ? row : Buffer.concat([Buffer.from(' '), row]),
  );
  return Buffer.concat([header, ...descriptors, Buffer.from('\r'), ...marked, Buffer.from([0x1a])]);
}

const int64 = (value: bigint) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(value);
  return bytes;
};
const int32 = (...values: number[]) => Buffer.from(Int32Array.from(values).buffer);
const double = (value: number) => Buffer.from(Float64Array.of(value).buffer);

describe('A table of dBASE', () => {
  it('has numbers, dates and booleans as the agent reads them, and empty fields as missing', async () => {
    const fields: Field[] = [
      ['NAME', 'C', 6],
      ['QTY', 'N', 6, 2],
      ['RATE', 'F', 5],
      ['BORN', 'D', 8],
      ['OK', 'L', 1],
    ];
    const rows = [
      ['Oslo  ', ' -0.50', '00012', '20240229', 'T'],
      [' a b  ', '12    ', '1e5  ', '        ', 'n'],
      ['      ', '      ', '\0\0\0\0\0', '00000000', '?'],
    ];
    const table = await readOne(readDbase, dbf(fields, rows));
    expect(table).toEqual({
      title: 'dBASE table (DBF)',
      facts: [],
      columns: ['NAME', 'QTY', 'RATE', 'BORN', 'OK'],
      rows: [
        ['Oslo', '-0.50', '12', '2024-02-29', 'TRUE'],
        [' a b', '12', '1e5', null, 'FALSE'],
        [null, null, null, null, null],
      ],
      notes: [],
    });
  });

  it('says what is left out: deleted rows, memos, and numbers that were too long', async () => {
    const fields: Field[] = [
      ['N', 'N', 3],
      ['NOTE', 'M', 10],
    ];
    const rows = [
      ['  1', '         1'],
      ['*', '  2', '         2'],
      ['***', '          '],
    ];
    const { columns, rows: read, notes } = await readOne(readDbase, dbf(fields, rows, { version: 0x83 }));
    expect({ columns, read }).toEqual({ columns: ['N'], read: [['1'], [null]] });
    expect(notes).toEqual([
      'The texts of `NOTE` are in another file, and are left out.',
      'One value of `N` is a number that was too long for its field, read as missing.',
      'One deleted row is left out.',
    ]);
  });

  it('says that it is cut off', async () => {
    const { rows, notes } = await readOne(readDbase, dbf([['N', 'N', 1]], [['1'], ['2']], { records: 5 }));
    expect(rows).toEqual([['1'], ['2']]);
    expect(notes).toEqual(['The header says 5 rows, but the file has only 2.']);
  });

  it('may have texts of more than 255 bytes', async () => {
    const { rows } = await readOne(readDbase, dbf([['TEXT', 'C', 300]], [['a'.repeat(300)]]));
    expect(rows).toEqual([['a'.repeat(300)]]);
  });

  it.each([
    ['of DOS', 0x02, 'Troms\x9b', '', 'Tromsø', []],
    ['of Windows', 0x57, 'Troms\xf8', '', 'Tromsø', []],
    ['of DOS in Russian', 0x65, '\x8c\xae', '', 'Мо', []],
    ['that is declared', 0x57, '\xcc\xee', 'application/dbf; charset=windows-1251', 'Мо', []],
    ['that is UTF-8', 0, 'Troms\xc3\xb8', '', 'Tromsø', []],
    [
      'that is UTF-8, although the header says another',
      0x57,
      'Troms\xc3\xb8',
      '',
      'Tromsø',
      ['Its texts are UTF-8, although its header says windows-1252.'],
    ],
    [
      'that is not known',
      0,
      'Troms\xf8',
      '',
      'Tromsø',
      [
        'The file does not say the encoding of its texts: they are read as Windows-1252. Declare another one as `charset` of its type.',
      ],
    ],
    ['that is Chinese', 0x7a, '\xd2\xbb', '', '一', []],
  ])('has texts in an encoding %s', async (_, language, text, mimeType, expected, said) => {
    const bytes = dbf([['CITY', 'C', text.length]], [[text]], { language });
    const { rows, notes } = await readOne(readDbase, bytes, { mimeType });
    expect({ rows, notes }).toEqual({ rows: [[expected]], notes: said });
  });
});

describe('A table of FoxPro', () => {
  it('has binary numbers with all digits, and times of whole seconds', async () => {
    const fields: Field[] = [
      ['I', 'I', 4],
      ['D', 'B', 8],
      ['CUR', 'Y', 8],
      ['AT', 'T', 8],
    ];
    const rows = [
      [int32(-5), double(0.1), int64(12_345_678_901_234_567n), int32(2_460_312, 11_044_999)],
      [int32(0), double(1e300), int64(-1n), int32(0, 0)],
    ];
    const table = await readOne(readDbase, dbf(fields, rows, { version: 0x30 }));
    expect(table.title).toBe('FoxPro table (DBF)');
    expect(table.rows).toEqual([
      ['-5', '0.1', '1234567890123.4567', '2024-01-02T03:04:05'],
      ['0', '1e+300', '-0.0001', null],
    ]);
  });

  it('has null, and texts with a length of their own', async () => {
    const fields: Field[] = [
      ['I', 'I', 4, 0, 2],
      ['TEXT', 'V', 5, 0, 2],
      ['_NullFlags', '0', 1, 0, 5],
    ];
    const rows = [
      [int32(7), 'abcde', '\x00'],
      [int32(7), 'ab  \x02', '\x02'],
      [int32(0), '     ', '\x05'],
    ];
    const { columns, rows: read } = await readOne(readDbase, dbf(fields, rows, { version: 0x32 }));
    expect(columns).toEqual(['I', 'TEXT']);
    expect(read).toEqual([
      ['7', 'abcde'],
      ['7', 'ab'],
      [null, null],
    ]);
  });
});

it.each([
  ['a text', Buffer.from('\x03 is no version of dBASE, and this is a text without fields.'.padEnd(80))],
  ['a table whose rows have another length than its fields', dbf([['N', 'N', 9]], []).fill(2, 10, 11)],
  ['a table with a number that is too short', dbf([['N', 'I', 2]], [])],
  ['a table without fields', dbf([], [])],
])('%s is not taken for dBASE', async (_, bytes) => {
  expect(await readDbase(fileBytes(bytes), bytes)).toBeUndefined();
});
