import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { casesOf } from '../../../../test/support/long-form.js';
import { FilesLimits } from '../files-limits.js';
import { delimitedSource } from './delimited-text.js';
import { TableEngine } from './engine.js';
import { importTable } from './import-table.js';
import { rowsSource } from './rows-source.js';
import { profileOf, sampleOf, sizeOf } from './table-profile.js';
import type { TableSource } from './table-source.js';
import type { Table } from './table.js';
import { Workspace } from './workspace.js';

const pick = (...values: string[]) => fc.constantFrom(...values);
const joined = (...parts: fc.Arbitrary<string>[]) => fc.tuple(...parts).map((all) => all.join(''));

const SIGN = pick('', '', '-', '+');
const DIGITS = fc.nat(99_999).map(String);
const SMALL = fc.integer({ min: 1, max: 12 }).map(String);
const YEAR = pick('2024', '1900', '0070', '2023');
const ISO_DATE = joined(YEAR, pick('-01-', '-12-', '-08-'), pick('01', '28', '31'));
const CLOCK = joined(pick('00', '09', '23'), pick(':'), pick('00', '59'));
const SECONDS = joined(pick(':00', ':59'), pick('', '.5', '.000', '.1234567', '.120'));
const OFFSET = pick('', 'Z', '+00:00', '-0330', '+14:59');
const DAY_FIRST = fc.tuple(pick('3', '25', '08', '31'), SMALL, YEAR);
const MONTH_FIRST = fc.tuple(SMALL, pick('3', '25', '08', '31'), YEAR);

/** Cells of the types that columns have. */
const KINDS: fc.Arbitrary<string>[] = [
  pick('true', 'FALSE', 'True'),
  pick('Yes', 'no', 'yes'),
  joined(SIGN, fc.oneof(DIGITS, pick('0', '123456789012345'))),
  joined(SIGN, DIGITS, pick('', '.', '.5', '.25'), pick('', 'e3', 'E-2', 'e-400')),
  joined(SIGN, pick('.5', '.07', '5.', '0.1', '1e300')),
  joined(SIGN, SMALL, pick(',234', ',234,567'), pick('', '.5')),
  joined(SIGN, SMALL, pick('', '.234', '.234.567'), pick('', ',5', ',25')),
  ISO_DATE,
  joined(ISO_DATE, pick('T', ' '), CLOCK, fc.oneof(pick(''), joined(SECONDS, OFFSET))),
  fc.tuple(DAY_FIRST, pick('/', '.', '-')).map(([date, mark]) => date.join(mark)),
  fc.tuple(MONTH_FIRST, pick('/', '-')).map(([date, mark]) => date.join(mark)),
  joined(pick('', '-', '+'), pick('$', '€', '$ ', '£'), SMALL, pick('', ',234', '234'), pick('', '.5')),
  joined(pick('', '-'), SMALL, pick('', '.234'), pick('', ',25'), pick('€', '\u00a0€', ' $')),
  joined(pick('', '-'), SMALL, pick('.5', '', ',5'), pick('%', ' %')),
  joined(pick('(', ''), SMALL, pick(',234', '.5'), pick(')', '')),
  joined(SIGN, SMALL, pick(' 234', '\u00a0234', '\u202f234', ''), pick('', ',5')),
  joined(SMALL, pick("'234", '’234', ''), pick('', '.5')),
  joined(YEAR, pick('/1/', '/12/', '/02/'), SMALL, pick('', ' 9:05', ' 23:59:59')),
  joined(
    SMALL,
    pick('-Jan-', ' May ', '-December-', ' Feb-', '-Sep '),
    YEAR,
    pick('', ' 12:05 AM', ' 1:59pm'),
  ),
  joined(pick('Jan ', 'May ', 'December '), SMALL, pick(' ', ', '), YEAR, pick('', ' 13:05', ' 9:05:59 PM')),
  joined(SMALL, pick('/'), SMALL, pick('/'), YEAR, pick('', ' 9:05', ' 11:59 PM')),
  joined(pick('9', '09', '23', '0'), pick(':'), pick('00', '59'), pick('', ':59', ':00.5', ':00.120')),
  pick('a', 'B', 'é', 'İ', 'ſ', 'x y', '\u{10000}', '\uffff', 'a\tb', "it's", '#'),
  fc.string({ unit: 'grapheme', maxLength: 6 }),
];
/** Cells that are nearly of such a type. */
const ODD = pick(
  ...['00', '007', '1234567890123456', '-999999999999999999', '1e400', '-0', '1,23', '1.23,4', '.', '+'],
  ...['2024-02-30', '2023-02-29', '2024-13-01', '0000-01-01', '9999-12-31', '2024-1-1', '1.2.3', '03/04/24'],
  ...['+4930123456', '9223372036854775808', '12345678901234567.89', '$', '5%%', '1 23', '(5', '24:00', '9:5'],
  ...['2024/02/30', '31-Apr-2024', '3/25/2024 13:05 PM', '3/25/2024 0:05 AM', 'Sept 1 2024', 'may 1 2024'],
  ...['2024-01-01T24:00', '2024-01-01T24:30', '2024-01-01T10:60', '2024-01-01T10:00:60', '2024-01-01T10:00Z'],
  ...['0000-01-01T00:00:00+01:00', '9999-12-31T24:00', '2024-01-01T10:00:00+15:00', '2024-01-01T10:00:00+2'],
  ...[
    '31/02/2024',
    '0/1/2024',
    '1/2.2024',
    '1/2/20245',
    '12%',
    '--',
    '1e',
    '0x10',
    'a\nb',
    'c"d',
    '2019',
    '2020',
  ],
);
const BLANK = pick('', '', ' ', '\u00a0');
const MARKER = pick('NA', 'n/a', '#N/A', 'null', 'NaN', 'None', '-', '\\N');

/** The cells of a column, nearly all of one kind. */
const COLUMN = fc
  .constantFrom(...KINDS)
  .chain((kind) =>
    fc.array(
      fc.oneof(
        { arbitrary: kind, weight: 100 },
        { arbitrary: kind.map((cell) => ` ${cell}\u00a0`), weight: 5 },
        { arbitrary: BLANK, weight: 5 },
        { arbitrary: MARKER, weight: 3 },
        { arbitrary: fc.oneof(ODD, ...KINDS), weight: 2 },
      ),
      { maxLength: 12 },
    ),
  );

/** Rows of columns that have cells of one kind each. Some rows have fewer cells. */
const ROWS = fc
  .tuple(
    fc.array(COLUMN, { minLength: 1, maxLength: 5 }),
    fc.boolean(),
    fc.constantFrom(
      [],
      [],
      [['A title']],
      [['A title'], []],
      [
        ['A', 'title'],
        ['', ''],
      ],
    ),
    fc.constantFrom([], [], [['Total', '5']]),
  )
  .map(([columns, isNamed, above, below]) => {
    const cells = columns.map((column, index) => (isNamed ? [`name ${index % 3}`, ...column] : column));
    const length = Math.max(1, ...cells.map((column) => column.length));
    const rows = Array.from({ length }, (_, row) => {
      const all = cells.map((column) => column[row] ?? '');
      return row % 5 === 3 ? all.slice(0, Math.max(1, all.length - 1)) : all;
    });
    return [...above, ...rows, ...below];
  });

const TEXT = fc
  .record({
    rows: ROWS,
    delimiter: pick(',', ';', '\t', '|'),
    before: pick('', '', '# comment\n', 'A title\n\n', 'sep=;\n'),
    end: pick(
      '\n',
      '',
      '\n\n',
      '\r\n',
      '\n',
      '\n""\n',
      '\n"open\n',
      '\na"b\n',
      '\n"a \\"b\\", c"\n',
      "\n'a, b'\n",
    ),
    areQuoted: fc.boolean(),
  })
  .map(({ rows, delimiter, before, end, areQuoted }) => {
    const special = new RegExp(`["\\r\\n${delimiter}]`);
    const quoted = (cell: string) =>
      areQuoted || special.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
    return before + rows.map((row) => row.map(quoted).join(delimiter)).join('\n') + end;
  });

async function* piecesOf<T>(all: T[]): AsyncGenerator<T> {
  yield* all;
}

/** All that is said about a table. */
async function said(table: Table): Promise<string[]> {
  const { hasHeader, notes } = table;
  const types = table.columns.map(({ name, type }) => `${name}: ${type}`);
  return [
    sizeOf(table),
    String(hasHeader),
    ...notes,
    ...types,
    await sampleOf(table),
    await profileOf(table),
  ];
}

describe('A small table', () => {
  const workspace = new Workspace(join(tmpdir(), `nest-agent-query-small-tables-${process.pid}`));

  /** How many of the tables were described without the engine, and that both say the same. */
  async function compare(sources: TableSource[]): Promise<number> {
    const written = [];
    for (const source of sources) written.push(await source.write(workspace));
    const engine = await TableEngine.open(
      workspace,
      written.map(({ path }) => path),
      new FilesLimits(),
    );
    let compared = 0;
    try {
      for (const [index, source] of sources.entries()) {
        const small = await source.small!();
        if (!small) continue;
        compared += 1;
        expect(await said(small)).toEqual(
          await said(await importTable(engine, `t${index}`, written[index]!)),
        );
      }
    } finally {
      engine.close();
      await workspace.clear();
    }
    return compared;
  }

  it('is described as by the engine, if it is a text', async () => {
    let compared = 0;
    let all = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(TEXT, { minLength: 10, maxLength: 10 }), async (texts) => {
        const sources = texts.map((text) => {
          const bytes = Buffer.from(text);
          return delimitedSource(() => piecesOf([bytes]), { label: 'utf-8', name: 'UTF-8' }, ',');
        });
        all += sources.length;
        compared += await compare(sources);
      }),
      { numRuns: casesOf(12) },
    );
    expect(compared).toBeGreaterThan(all / 4);
  });

  it('is described as by the engine, if it has rows', async () => {
    let compared = 0;
    let all = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(ROWS, { minLength: 10, maxLength: 10 }),
        fc.boolean(),
        async (tables, isNamed) => {
          const sources = tables.map((rows) => {
            const cells = rows.map((row) => row.map((cell) => (cell === '' ? null : cell)));
            const width = Math.max(...cells.map((row) => row.length));
            const names = Array.from({ length: width }, (_, index) => `n${index}`);
            return rowsSource('Sheet', () => piecesOf(cells), isNamed ? names : undefined);
          });
          all += sources.length;
          compared += await compare(sources);
        },
      ),
      { numRuns: casesOf(12) },
    );
    expect(compared).toBeGreaterThan(all / 4);
  });
});
