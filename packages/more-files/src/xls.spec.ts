import * as XLSX from '@e965/xlsx';
import { readTableFile, UnreadableTableFile } from './index.js';
import type { FileBytes, ReadFile } from './index.js';

/** What SheetJS has of compound files, without its types. */
const CFB = XLSX.CFB as {
  read(content: Uint8Array, options: { type: 'buffer' }): object;
  find(container: object, path: string): { content: Uint8Array };
  write(container: object, options: { type: 'buffer' }): Uint8Array;
  utils: { cfb_new(): object; cfb_add(container: object, path: string, content: Uint8Array): void };
};

function fileOf(name: string, content: Uint8Array): FileBytes {
  return {
    name,
    mimeType: '',
    size: content.length,
    read: (start, end) => Promise.resolve(content.subarray(start, end)),
    checkTime: () => undefined,
  };
}

function read(name: string, content: Uint8Array): Promise<ReadFile | undefined> {
  return readTableFile(fileOf(name, content), content.subarray(0, 64 * 1024));
}

/** The rows of each table, and what is said about it. */
async function allOf(found: ReadFile | undefined) {
  const all = [];
  for (const table of found!.tables) {
    const notes = [...table.notes];
    const rows = [];
    for await (const row of table.rows(notes)) rows.push(row);
    all.push({ name: table.name, rows, notes });
  }
  return all;
}

function book(sheets: Record<string, XLSX.WorkSheet>, props: XLSX.WBProps = {}): XLSX.WorkBook {
  const made = XLSX.utils.book_new();
  for (const [name, sheet] of Object.entries(sheets)) XLSX.utils.book_append_sheet(made, sheet, name);
  made.Workbook = { ...props };
  return made;
}

/** @param type the library writes more types than it declares */
function written(made: XLSX.WorkBook, type: XLSX.BookType | 'biff3' | 'biff4'): Uint8Array {
  return new Uint8Array(XLSX.write(made, { type: 'buffer', bookType: type as XLSX.BookType }) as Buffer);
}

const DATA: XLSX.WorkSheet = {
  '!ref': 'A1:H5',
  '!merges': [
    { s: { r: 2, c: 7 }, e: { r: 3, c: 7 } },
    { s: { r: 2, c: 0 }, e: { r: 3, c: 0 } },
  ],
  ...XLSX.utils.aoa_to_sheet([['id', 'day', 'at', 'took', 'ok', 'amount', 'code', 'name']]),
  A2: { t: 'n', v: 12345678901234 },
  B2: { t: 'n', v: 45351, z: 'yyyy-mm-dd' },
  C2: { t: 'n', v: 45351.5, z: 'm/d/yy h:mm' },
  D2: { t: 'n', v: 1.25, z: '[h]:mm:ss' },
  E2: { t: 'b', v: true },
  F2: { t: 'n', v: 0.1 + 0.2 },
  G2: { t: 'n', v: 7, z: '0000' },
  H2: { t: 's', v: 'Zoë' },
  A3: { t: 'n', v: -1.5 },
  D3: { t: 'n', v: 0.5, z: 'hh:mm' },
  E3: { t: 'b', v: false },
  F3: { t: 'e', v: 7, w: '#DIV/0!' },
  H3: { t: 's', v: 'merged' },
  F4: { t: 'n', v: 1 / 3 },
  B5: { t: 'n', v: 1, z: 'yyyy-mm-dd' },
};
DATA['!ref'] = 'A1:H5';

const ROWS = [
  ['id', 'day', 'at', 'took', 'ok', 'amount', 'code', 'name'],
  ['12345678901234', '2024-02-29', '2024-02-29 12:00:00', '30:00:00', 'TRUE', '0.3', '0007', 'Zoë'],
  ['-1.5', null, null, '12:00:00', 'FALSE', null, null, 'merged'],
  [null, null, null, null, null, '0.333333333333333', null, 'merged'],
  [null, '1900-01-01'],
];
const NOTES = [
  '1 cell has a number and is merged with cells below, which stay empty, so that sums count it once.',
  '1 cell has an error (`#DIV/0!`), read as missing.',
  '1 cell has the value of a merged cell that begins above.',
];

const FORMATS: [XLSX.BookType, string][] = [
  ['biff8', 'Excel workbook of 97 to 2003 (XLS)'],
  ['xlsb', 'Excel binary workbook (XLSB)'],
  ['xlml', 'Excel workbook as XML (2003)'],
];

/** An XLS whose stream of records begins with these after the first one. */
function withRecord(content: Uint8Array, record: number[]): Uint8Array {
  const container = CFB.read(Buffer.from(content), { type: 'buffer' });
  const entry = CFB.find(container, '/Workbook');
  const stream = Buffer.from(entry.content);
  const end = 4 + stream.readUInt16LE(2);
  entry.content = Buffer.concat([stream.subarray(0, end), Buffer.from(record), stream.subarray(end)]);
  return new Uint8Array(CFB.write(container, { type: 'buffer' }));
}

describe('A workbook of an older format', () => {
  it.each(FORMATS)('as %s has its cells as they are shown, and says what is not', async (type, title) => {
    const found = await read('a.bin', written(book({ Data: DATA }), type));
    expect(found).toMatchObject({ title, facts: ['1 sheet.'] });
    expect(await allOf(found)).toEqual([{ name: 'Data', rows: ROWS, notes: NOTES }]);
  });

  it.each(FORMATS)('as %s has hidden sheets, which it names, and empty ones', async (type) => {
    const one = XLSX.utils.aoa_to_sheet([['x'], [1]]);
    const made = book({ Seen: one, Secret: one, Empty: {} }, {});
    made.Workbook = { Sheets: [{}, { Hidden: 1 }, {}] };
    const found = await read('a.bin', written(made, type));
    expect(found!.facts).toEqual(['3 sheets.']);
    expect(await allOf(found)).toEqual([
      { name: 'Seen', rows: [['x'], ['1']], notes: [] },
      { name: 'Secret', rows: [['x'], ['1']], notes: ['This sheet is hidden.'] },
      { name: 'Empty', rows: [], notes: [] },
    ]);
  });

  it.each(['biff8', 'xlsb'] as const)('as %s may count its days from 1904', async (type) => {
    const made = book({ S: { '!ref': 'A1', A1: { t: 'n', v: 43889, z: 'yyyy-mm-dd' } } });
    made.Workbook = { WBProps: { date1904: true } };
    expect((await allOf(await read('a.bin', written(made, type))))[0]!.rows).toEqual([['2024-02-29']]);
  });

  it.each(['biff5', 'biff4', 'biff3', 'biff2'] as const)('as %s is one of before 97', async (type) => {
    const sheet = XLSX.utils.aoa_to_sheet([
      ['x', 'y'],
      [1.5, 'text'],
    ]);
    const found = await read('a.xls', written(book({ Sheet1: sheet }), type));
    expect(found!.title).toBe('Excel workbook of before 97 (XLS)');
    expect(await allOf(found)).toEqual([
      {
        name: 'Sheet1',
        rows: [
          ['x', 'y'],
          ['1.5', 'text'],
        ],
        notes: [],
      },
    ]);
  });

  it('may be XML in UTF-16', async () => {
    const text = Buffer.from(written(book({ S: XLSX.utils.aoa_to_sheet([['Zoë', 1]]) }), 'xlml')).toString();
    const content = Buffer.from(`\ufeff${text}`, 'utf16le');
    expect((await allOf(await read('a.xml', content)))[0]!.rows).toEqual([['Zoë', '1']]);
  });

  it('may be a web page, whose cells are texts', async () => {
    const page =
      '<html><meta charset="windows-1252"><table><tr><th>d<th>n<tr><td>1/2/2024<td>Zo\xeb</table></html>';
    const found = await read('a.xls', Buffer.from(page, 'latin1'));
    expect(found!.title).toBe('Web page with the name of a workbook');
    expect((await allOf(found))[0]!.rows).toEqual([
      ['d', 'n'],
      ['1/2/2024', 'Zoë'],
    ]);
    expect(await read('a.html', Buffer.from(page, 'latin1'))).toBeUndefined();
    const nested = page.replace('Zo\xeb', '<table><tr><td>1</table>');
    expect(await read('a.xls', Buffer.from(nested, 'latin1'))).toBeUndefined();
  });

  it.each(FORMATS)('as %s that is cut off is refused', async (type, title) => {
    const whole = written(book({ Data: DATA }), type);
    await expect(read('a.bin', whole.subarray(0, whole.length - 700))).rejects.toThrow(
      new UnreadableTableFile(`${title}: it is broken or cut off.`),
    );
  });

  it('that is encrypted says so', async () => {
    const encrypted = withRecord(written(book({ Data: DATA }), 'biff8'), [0x2f, 0, 6, 0, 0, 0, 1, 2, 3, 4]);
    await expect(read('a.xls', encrypted)).rejects.toThrow(
      'Excel workbook of 97 to 2003 (XLS): it is encrypted, and opens with its password only.',
    );
  });

  it('that is too large for memory says what to do', async () => {
    const content = written(book({ Data: DATA }), 'biff8');
    const file = { ...fileOf('a.xls', content), size: 4_000_001 };
    await expect(readTableFile(file, content)).rejects.toThrow(
      'Excel workbook of 97 to 2003 (XLS): only workbooks of up to 4 MB are read. Save it as XLSX or CSV.',
    );
  });

  it.each(['WordDocument', 'PowerPoint Document'])(
    'is no container with a %s, also where a workbook is in a folder of it',
    async (stream) => {
      const container = CFB.utils.cfb_new();
      const workbook = written(book({ Data: DATA }), 'biff8');
      CFB.utils.cfb_add(container, `/${stream}`, Buffer.alloc(5000));
      CFB.utils.cfb_add(container, '/ObjectPool/_1/Workbook', Buffer.from(workbook));
      const content = new Uint8Array(CFB.write(container, { type: 'buffer' }));
      expect(await read('a.xls', content)).toBeUndefined();
    },
  );

  it('is none of these where the bytes are something else', async () => {
    for (const bytes of ['', 'PK\x03\x04', 'text', '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', '\t\0'])
      expect(await read('a.xls', Buffer.from(bytes, 'latin1'))).toBeUndefined();
  });
});
