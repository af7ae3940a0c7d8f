import { readOne, fileBytes } from '../../../test/support/read-tables.js';
import { readSas } from './sas.js';

interface Variable {
  name: string;
  label?: string;
  format?: string;
  /** Of a text; a number has 8 bytes. */
  text?: number;
  /** Fewer bytes of a number. */
  bytes?: number;
}

const padded = (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc((80 - (bytes.length % 80)) % 80, ' ')]);
const record = (text: string) => Buffer.from(text.padEnd(80));
const header = (kind: string, numbers = '0'.repeat(30)) =>
  record(`HEADER RECORD*******${kind.padEnd(8)}HEADER RECORD!!!!!!!${numbers}`);
const lengthOf = ({ text, bytes }: Variable) => text ?? bytes ?? 8;

/** A number as it is stored, by its hexadecimal digits. */
const ibm = (hex: string) => Buffer.from(hex.padEnd(16, '0'), 'hex');

/** A data set of version 5, or of version 8, in which names are longer. */
function dataSet(name: string, variables: Variable[], rows: (string | Buffer)[][], is8 = false): Buffer {
  const [member, descriptor, names, rowsBegin] = is8
    ? ['MEMBV8', 'DSCPTV8', 'NAMSTV8', 'OBSV8']
    : ['MEMBER', 'DSCRPTR', 'NAMESTR', 'OBS'];
  let start = 0;
  const described = variables.map((variable) => {
    const bytes = Buffer.alloc(140);
    bytes.writeInt16BE(variable.text ? 2 : 1, 0);
    bytes.writeInt16BE(lengthOf(variable), 4);
    bytes.write(variable.name.slice(0, 8).padEnd(8), 8);
    bytes.write((variable.label ?? '').padEnd(40), 16);
    bytes.write((variable.format ?? '').padEnd(8), 56);
    bytes.writeInt32BE(start, 84);
    if (is8) bytes.write(variable.name.padEnd(32), 88);
    start += lengthOf(variable);
    return bytes;
  });
  const cells = rows.map((row) =>
    row.map((cell, index) => {
      const length = lengthOf(variables[index]!);
      return typeof cell === 'string' ? Buffer.from(cell.padEnd(length), 'latin1') : cell.subarray(0, length);
    }),
  );
  return Buffer.concat([
    header(member, '0'.repeat(17) + '1600000000140'),
    header(descriptor),
    record(`SAS     ${name.padEnd(is8 ? 32 : 8)}SASDATA 9.4`),
    record(''),
    header(names, `000000${String(variables.length).padStart(4, '0')}${'0'.repeat(20)}`),
    padded(Buffer.concat(described)),
    header(rowsBegin),
    padded(Buffer.concat(cells.flat())),
  ]);
}

function xpt(...dataSets: Buffer[]): Buffer {
  return Buffer.concat([header('LIBRARY '), record(''), record(''), ...dataSets]);
}

describe('A transport file of SAS', () => {
  it('has numbers, dates and texts as the agent reads them, and labels of its columns', async () => {
    const variables: Variable[] = [
      { name: 'N', label: 'A number' },
      { name: 'SHORT', bytes: 3 },
      { name: 'DAY', format: 'DATE' },
      { name: 'AT', format: 'DATETIME' },
      { name: 'TOOK', format: 'TIME' },
      { name: 'CITY', text: 6 },
    ];
    const rows = [
      [ibm('401999999999999a'), ibm('421080'), ibm('445b4d'), ibm('487899aab0'), ibm('44698c'), 'Oslo'],
      [ibm('c118'), ibm('000000'), ibm('00'), ibm('c114'), ibm('4118'), ' a'],
      [ibm('2e'), ibm('5f0000'), ibm('41'), ibm('5a'), ibm('2e'), ''],
    ];
    const table = await readOne(readSas, xpt(dataSet('ORDERS', variables, rows)));
    expect(table).toEqual({
      title: 'SAS transport file (XPT)',
      facts: [],
      columns: ['N', 'SHORT', 'DAY', 'AT', 'TOOK', 'CITY'],
      rows: [
        ['0.1', '16.5', '2023-12-29', '2024-02-12T05:57:04', '07:30:20', 'Oslo'],
        ['-1.5', '0', '1960-01-01', '1959-12-31T23:59:58.75', '00:00:01.5', ' a'],
        [null, null, null, null, null, null],
      ],
      notes: ['`N` is `A number`.'],
    });
  });

  it('may have several data sets, and long names', async () => {
    const first = dataSet('FIRST', [{ name: 'A' }], [[ibm('411')], [ibm('412')]]);
    const second = dataSet('SECOND', [{ name: 'A_LONGER_NAME' }], [[ibm('413')]], true);
    const bytes = xpt(first, second);
    const { tables } = (await readSas(fileBytes(bytes), bytes))!;
    const read = [];
    for (const table of tables) {
      for await (const row of table.rows([])) read.push([table.name, table.columns, row]);
    }
    expect(read).toEqual([
      ['FIRST', ['A'], ['1']],
      ['FIRST', ['A'], ['2']],
      ['SECOND', ['A_LONGER_NAME'], ['3']],
    ]);
  });

  it.each([
    ['fill less than a record', 30],
    ['fill some records', 20],
    ['are in many records', 1000],
  ])('has no rows of the blanks after its rows, which %s', async (_, count) => {
    const rows = Array.from({ length: count }, (_, index) => [String(index)]);
    const { rows: read } = await readOne(readSas, xpt(dataSet('T', [{ name: 'A', text: 4 }], rows)));
    expect(read).toEqual(rows);
  });

  it('says that an encoding is guessed', async () => {
    const { rows, notes } = await readOne(
      readSas,
      xpt(dataSet('T', [{ name: 'A', text: 6 }], [['Troms\xf8']])),
    );
    expect(rows).toEqual([['Tromsø']]);
    expect(notes).toEqual([
      'The file does not say the encoding of its texts: what is not UTF-8 is read as Windows-1252.',
    ]);
  });

  it('is refused if it is cut off before its rows', async () => {
    const whole = xpt(dataSet('T', [{ name: 'A' }], []));
    for (const length of [240, 640, 700]) {
      await expect(readOne(readSas, whole.subarray(0, length))).rejects.toThrow(
        'This SAS transport file is broken',
      );
    }
  });
});

it('A file that only begins as a transport file is none', async () => {
  const text = Buffer.from('HEADER RECORD is what this text is about.'.padEnd(200));
  expect(await readSas(fileBytes(text), text)).toBeUndefined();
});
