import { answerOf, filePart } from '../../../test/support/files-agent.js';
import { openDocumentOf, zipOf } from '../../../test/support/hostile-files.mjs';
import { FilesHandler } from './index.js';

const RELATIONSHIPS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const TYPES = 'application/vnd.openxmlformats-officedocument';

/** Relationships of a part, each with its type and its target. */
function relationships(...all: [type: string, target: string][]): string {
  const each = all.map(
    ([type, target], index) =>
      `<Relationship Id="rId${index + 1}" Type="${RELATIONSHIPS}/${type}" Target="${target}"/>`,
  );
  return `<Relationships>${each.join('')}</Relationships>`;
}

function contentType(part: string, type: string): string {
  return `<Types><Override PartName="/${part}" ContentType="${TYPES}.${type}.main+xml"/></Types>`;
}

function zip(parts: Record<string, string>): Buffer {
  return zipOf(Object.entries(parts).map(([name, content]) => [name, Buffer.from(content)]));
}

/** Cells that are `1.5`, `text`, or an element with all that belongs to it. */
function row(...cells: (number | string)[]): string {
  return `<row>${cells
    .map((cell) => {
      if (typeof cell === 'number') return `<c><v>${cell}</v></c>`;
      return cell.startsWith('<') ? cell : `<c t="inlineStr"><is><t>${cell}</t></is></c>`;
    })
    .join('')}</row>`;
}

/** The parts of a workbook with one sheet, `S`. */
function bookParts(
  rows: string[],
  others: Record<string, string> = {},
  afterRows = '',
): Record<string, string> {
  return {
    'xl/workbook.xml': `<workbook xmlns:r="${RELATIONSHIPS}"><sheets><sheet name="S" r:id="rId1"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relationships(
      ['worksheet', 'worksheets/sheet1.xml'],
      ['styles', 'styles.xml'],
      ['sharedStrings', 'sharedStrings.xml'],
    ),
    'xl/worksheets/sheet1.xml': `<worksheet><sheetData>${rows.join('')}</sheetData>${afterRows}</worksheet>`,
    ...others,
  };
}

/** A workbook in which style 1, 2 and so on has these formats: a number of a built-in one, or its code. */
function formatted(formats: (string | number)[], rows: string[], isFrom1904 = false): Buffer {
  const codes = formats.map((format, index) =>
    typeof format === 'string' ? `<numFmt numFmtId="${200 + index}" formatCode="${format}"/>` : '',
  );
  const styles = formats.map(
    (format, index) => `<xf numFmtId="${typeof format === 'string' ? 200 + index : format}"/>`,
  );
  const parts = bookParts(rows, {
    'xl/styles.xml': `<styleSheet><numFmts>${codes.join('')}</numFmts><cellXfs><xf numFmtId="0"/>${styles.join('')}</cellXfs></styleSheet>`,
  });
  if (isFrom1904)
    parts['xl/workbook.xml'] = parts['xl/workbook.xml']!.replace(
      '<sheets>',
      '<workbookPr date1904="1"/><sheets>',
    );
  return zip(parts);
}

const styled = (style: number, value: number | string) => `<c s="${style}"><v>${value}</v></c>`;

/** A row of an OpenDocument sheet. */
const openRow = (...cells: string[]) => `<table:table-row>${cells.join('')}</table:table-row>`;
const openText = (text: string, attributes = '') =>
  `<table:table-cell office:value-type="string"${attributes}><text:p>${text}</text:p></table:table-cell>`;
const openNumber = (value: number, attributes = '') =>
  `<table:table-cell office:value-type="float" office:value="${value}"${attributes}/>`;
const openSheet = (...rows: string[]) =>
  openDocumentOf('spreadsheet', `<table:table table:name="S">${rows.join('')}</table:table>`);

describe('Workbooks', () => {
  let handler: FilesHandler;

  beforeAll(() => {
    handler = new FilesHandler();
  });

  afterAll(() => handler.onApplicationShutdown());

  const describeOne = (name: string, content: Uint8Array) => answerOf(handler, [filePart(name, content)]);
  const ask = (statement: string, name: string, content: Uint8Array) =>
    answerOf(handler, [filePart(name, content), statement]);

  describe('have times and durations', () => {
    it.each([
      ['[h]:mm:ss', 1.2534722222222223, '30:05:00'],
      ['[h]:mm', 4.166666666666667, '100:00:00'],
      ['[mm]:ss', 0.05, '01:12:00'],
      ['[mm]:ss.0', 0.0000173611111111, '00:00:01.5'],
      ['[h]:mm', -0.25, '-06:00:00'],
      [46, 1.25, '30:00:00'],
      ['h:mm', 0.4201388888888889, '10:05:00'],
      ['h:mm AM/PM', 0.75, '18:00:00'],
      ['[$-409]h:mm:ss\\ AM/PM;@', 0.75, '18:00:00'],
      ['h:mm', 1.25, '30:00:00'],
      [20, 0.3333333333333333, '08:00:00'],
      [45, 0.5, '12:00:00'],
      [33, 0.5, '12:00:00'],
      [32, 45_001.5, '2023-03-16 12:00:00'],
      ['yyyy\\-mm\\-dd hh:mm:ss.000', 45_001.123456, '2023-03-16 02:57:47'],
      [31, 45_001, '2023-03-16'],
      [57, 45_001, '2023-03-16'],
      ['mmm', 45_001, '2023-03-16'],
      ['00000', 1234, '01234'],
      ['0.00', 1.5, '1.5'],
      ['[Red]0;[Blue]-0', 3, '3'],
    ])('%s of %d is %s', async (format, value, shown) => {
      const rows = [row('name', 'value'), row('a', styled(1, value))];
      expect(await ask('select * from a_s', 'a.xlsx', formatted([format], rows))).toMatch(
        new RegExp(`\\| \`a\` \\| \`?${shown}\`? \\|`),
      );
    });

    it('of OpenDocument as those of Excel', async () => {
      const time = (value: string, shown: string) =>
        `<table:table-cell office:value-type="time" office:time-value="${value}"><text:p>${shown}</text:p></table:table-cell>`;
      const sheet = openSheet(
        openRow(openText('worked'), openText('from')),
        openRow(time('PT30H05M00S', '30:05'), time('PT08H15M00S', '08:15 AM')),
        openRow(time('-PT06H00M00S', '-06:00'), time('PT18H15M00.5S', '06:15 PM')),
      );
      const answer = await describeOne('a.ods', sheet);
      expect(answer).toContain('| `30:05:00` | `08:15:00` |\n| `-06:00:00` | `18:15:00.5` |');
      const sum = 'select sum(epoch(worked::varchar::interval)) as seconds from a_s';
      expect(await ask(sum, 'a.ods', sheet)).toContain('| 86700 |');
    });

    it('below a day can be summed as longer ones can', async () => {
      const rows = [row('name', 'worked'), row('a', styled(1, 0.3125)), row('b', styled(1, 0.3333333333))];
      const sum = 'select sum(epoch(worked::varchar::interval)) as seconds from a_s';
      expect(await ask(sum, 'a.xlsx', formatted(['[h]:mm'], rows))).toContain('| 55800 |');
    });

    it('that are counted from 1904', async () => {
      const rows = [row('name', 'a', 'b'), row('x', styled(1, 0.5), styled(2, 43_889))];
      expect(await describeOne('a.xlsx', formatted(['h:mm', 'd.m.yy'], rows, true))).toContain(
        '| `x` | `12:00:00` | `2024-02-29` |',
      );
    });
  });

  describe('say which cells have no value', () => {
    const FORMULAS =
      '2 cells have a formula without a stored value, read as missing: open the file in a spreadsheet program, save it, and send it again.';
    const ERRORS =
      '2 cells have an error (`#DIV/0!`), read as missing. 1 cell has an error (`#N/A`), read as missing.';

    it('because a formula was never computed', async () => {
      const rows = [
        row('n', 'double', 'text'),
        row(2, '<c><f>A2*2</f></c>', '<c t="str"><f>""</f><v></v></c>'),
        row(3, '<c><f>A3*2</f><v/></c>', '<c t="str"><f>B1</f><v>x</v></c>'),
      ];
      const answer = await describeOne('a.xlsx', zip(bookParts(rows)));
      expect(answer).toContain('| `2` | `(formula)` |');
      expect(answer).toContain(`2 rows of 3 columns. ${FORMULAS}`);
      const formula = '<table:table-cell table:formula="of:=[.A2]*2"/>';
      const open = openSheet(
        openRow(openText('n'), openText('double')),
        openRow(openNumber(2), formula),
        openRow(openNumber(3), formula),
      );
      expect(await describeOne('a.ods', open)).toContain(`2 rows of 2 columns. ${FORMULAS}`);
    });

    it('because all of it are formulas', async () => {
      const answer = await describeOne(
        'a.xlsx',
        zip(bookParts([row('<c><f>1+1</f></c>', '<c><f>2+1</f></c>')])),
      );
      expect(answer).toContain('Sheet `S`: 1 row × 2 columns.');
      expect(answer).toContain(FORMULAS);
    });

    it('because of an error, and have numbers beside', async () => {
      const error = (text: string) => `<c t="e"><f>1/0</f><v>${text}</v></c>`;
      const rows = [
        row('a', 'b'),
        row('x', 1),
        row('y', error('#DIV/0!')),
        row('z', error('#N/A')),
        row('z', error('#DIV/0!')),
      ];
      const answer = await describeOne('a.xlsx', zip(bookParts(rows)));
      expect(answer).toContain('| `y` | `#DIV/0!` |');
      expect(answer).toContain(ERRORS);
      expect(answer).toContain('| `b` | integer | 3 | 1 |');
      const failed = (text: string) => openText(text, ' table:formula="of:=1/0" calcext:value-type="error"');
      const open = openSheet(
        openRow(openText('a'), openText('b')),
        openRow(openText('x'), openNumber(1)),
        ...['#DIV/0!', '#N/A', '#DIV/0!'].map((text) => openRow(openText('y'), failed(text))),
      );
      expect(await describeOne('a.ods', open)).toContain(ERRORS);
      expect(await ask('select avg(b) from a_s', 'a.ods', open)).toContain('| 1 |');
    });
  });

  describe('have the value of a merged cell in all of its rows', () => {
    const FILLED = '2 cells have the value of a merged cell that begins above.';

    it('so that groups are those that a person sees', async () => {
      const rows = [
        row('Region', 'Sales'),
        row('North', 10),
        row('<c/>', 20),
        row('South', 30),
        row('<c/>', 40),
      ];
      const merged = '<mergeCells><mergeCell ref="A2:A3"/><mergeCell ref="A4:A5"/></mergeCells>';
      const file = zip(bookParts(rows, {}, merged));
      const sums = 'select Region, sum(Sales) from a_s group by Region order by 1';
      expect(await ask(sums, 'a.xlsx', file)).toContain('| `North` | 30 |\n| `South` | 70 |');
      expect(await describeOne('a.xlsx', file)).toContain(FILLED);
      const covered = '<table:covered-table-cell/>';
      const span = ' table:number-rows-spanned="2"';
      const open = openSheet(
        openRow(openText('Region'), openText('Sales')),
        openRow(openText('North', span), openNumber(10)),
        openRow(covered, openNumber(20)),
        openRow(openText('South', span), openNumber(30)),
        openRow(covered, openNumber(40)),
      );
      expect(await ask(sums, 'a.ods', open)).toContain('| `North` | 30 |\n| `South` | 70 |');
      expect(await describeOne('a.ods', open)).toContain(FILLED);
    });

    it('but a number only once, so that sums are right', async () => {
      const rows = [row('name', 'Bonus'), row('a', 100), row('b'), row('c', 7)];
      const file = zip(bookParts(rows, {}, '<mergeCells><mergeCell ref="B2:B3"/></mergeCells>'));
      expect(await ask('select sum(Bonus) from a_s', 'a.xlsx', file)).toContain('| 107 |');
      expect(await describeOne('a.xlsx', file)).toContain(
        '1 cell has a number and is merged with cells below, which stay empty, so that sums count it once.',
      );
    });
  });

  describe('have texts and numbers as programs show them', () => {
    it('without escapes of characters, and with 15 digits', async () => {
      const strings =
        '<sst><si><t>first_x000D_\nsecond</t></si><si><t>_x005F_x0041_</t></si><si><r><t>東京</t></r><rPh><t>トウキョウ</t></rPh></si></sst>';
      const shared = (index: number) => `<c t="s"><v>${index}</v></c>`;
      const rows = [
        row('text', 'level'),
        row(shared(0), '1a'),
        row(shared(1), '<c><v>1.1000000000000001</v></c>'),
        row(shared(2), '<c><v> 41</v></c>'),
        row('_x0041_', '<c><v>1E-3</v></c>'),
      ];
      const file = zip(bookParts(rows, { 'xl/sharedStrings.xml': strings }));
      expect(await ask('select text, level from a_s as json', 'a.xlsx', file)).not.toContain('x000D');
      const answer = await ask('select text, level from a_s', 'a.xlsx', file);
      expect(answer).toContain('| `first second` | `1a` |');
      expect(answer).toContain('| `_x0041_` | `1.1` |\n| `東京` | `41` |\n| `A` | `0.001` |');
    });
  });

  describe('are found by what their parts say', () => {
    const ROWS = [row('city'), row('Rome')];

    it('whatever the prefix of an attribute is', async () => {
      const parts = bookParts(ROWS);
      parts['xl/workbook.xml'] =
        `<workbook xmlns:rel="${RELATIONSHIPS}"><sheets><sheet name="S" id="1" rel:id="rId1"/></sheets></workbook>`;
      expect(await describeOne('a.xlsx', zip(parts))).toContain('Sheet `S`: 2 rows × 1 column.');
      const uri = (name: string) => `urn:oasis:names:tc:opendocument:xmlns:${name}:1.0`;
      const content = `<document xmlns:t="${uri('table')}" xmlns:o="${uri('office')}"><t:table t:name="S"><t:table-row><t:table-cell o:value-type="float" o:value="7" t:number-columns-repeated="3"/></t:table-row></t:table></document>`;
      expect(await describeOne('a.ods', openDocumentOf('spreadsheet', content))).toContain(
        'Sheet `S`: 1 row × 3 columns.\n\n| `7` | `7` | `7` |',
      );
    });

    it('whatever the name of a part is, and its case', async () => {
      const parts: Record<string, string> = {
        '_rels/.rels': relationships(['officeDocument', '/xl/Workbook2.xml']),
        '[Content_Types].xml': contentType('xl/workbook2.xml', 'spreadsheetml.sheet'),
      };
      for (const [name, content] of Object.entries(bookParts(ROWS))) {
        parts[name.replace('workbook.xml', 'workbook2.xml').replace('sheet1', 'Sheet1')] = content;
      }
      expect(await describeOne('a.xlsx', zip(parts))).toContain('Sheet `S`: 2 rows × 1 column.');
      expect(await ask('select city from a_s', 'a.xlsx', zip(parts))).toContain('| `Rome` |');
      const document = {
        '_rels/.rels': relationships(['officeDocument', 'word/document2.xml']),
        '[Content_Types].xml': contentType('word/document2.xml', 'wordprocessingml.document'),
        'word/document2.xml': '<document><p><r><t>Written in a browser.</t></r></p></document>',
      };
      expect(await describeOne('a.docx', zip(document))).toContain('```text\nWritten in a browser.\n```');
      expect(await ask('text', 'a.docx', zip(document))).toContain('Written in a browser.');
      const slides = {
        '_rels/.rels': relationships(['officeDocument', 'ppt/presentation2.xml']),
        '[Content_Types].xml': contentType('ppt/presentation2.xml', 'presentationml.presentation'),
        'ppt/presentation2.xml': `<presentation xmlns:rel="${RELATIONSHIPS}"><sldId id="256" rel:id="rId1"/><sldId id="257" rel:id="rId2"/></presentation>`,
        'ppt/_rels/presentation2.xml.rels': relationships(
          ['slide', 'slides/one.xml'],
          ['slide', 'slides/two.xml'],
        ),
        'ppt/slides/One.xml': '<sld><p><t>Hello</t></p></sld>',
      };
      expect(await describeOne('a.pptx', zip(slides))).toContain(
        '2 slides, 1 word.\n\n1. `Hello`\n2. (missing in this file)',
      );
      expect(await ask('page 1', 'a.pptx', zip(slides))).toContain('Hello');
    });

    it('and say what is missing', async () => {
      const { 'xl/worksheets/sheet1.xml': _missing, ...parts } = bookParts(ROWS);
      expect(await describeOne('a.xlsx', zip(parts))).toContain(
        'Sheet `S`: its part is missing in this file.',
      );
      expect(await ask('select * from a_s', 'a.xlsx', zip(parts))).toContain(
        '`a_s` cannot be read: its part is missing in the file.',
      );
      const lost = bookParts([row('a', 'b'), row('x', '<c t="s"><v>5</v></c>')]);
      expect(await describeOne('a.xlsx', zip(lost))).toContain(
        '1 cell has a text that the file does not have, read as missing.',
      );
      const document = {
        '_rels/.rels': relationships(['officeDocument', 'word/document2.xml']),
        '[Content_Types].xml': contentType('word/document2.xml', 'wordprocessingml.document'),
      };
      expect(await describeOne('a.docx', zip(document))).toContain(
        'This Word document is broken: its main part `word/document2.xml` is missing.',
      );
    });
  });

  describe('have tables in areas of a sheet', () => {
    const table = (name: string, reference: string, attributes = '', columns = ['id', 'amount']) =>
      `<table name="${name}" displayName="${name}" ref="${reference}" ${attributes}><tableColumns>${columns
        .map((column) => `<tableColumn name="${column}"/>`)
        .join('')}</tableColumns></table>`;
    const at = (reference: string, value: number | string) =>
      typeof value === 'number'
        ? `<c r="${reference}"><v>${value}</v></c>`
        : `<c r="${reference}" t="inlineStr"><is><t>${value}</t></is></c>`;

    it('without what is around it, and without its totals', async () => {
      const rows = [
        row(at('A1', 'A note')),
        `<row r="5">${at('D5', 'id')}${at('E5', 'amount')}</row>`,
        `<row r="6">${at('D6', 1)}${at('E6', 20)}</row>`,
        `<row r="7">${at('D7', 2)}${at('E7', 30)}</row>`,
        `<row r="8">${at('D8', 'Total')}${at('E8', 50)}</row>`,
      ];
      const file = zip(
        bookParts(rows, {
          'xl/worksheets/_rels/sheet1.xml.rels': relationships(['table', '../tables/table1.xml']),
          'xl/tables/table1.xml': table('Orders', 'D5:E8', 'totalsRowCount="1"'),
        }),
      );
      expect(await ask('select sum(amount), count(*) from a_s', 'a.xlsx', file)).toContain('| 50 | 2 |');
      expect(await describeOne('a.xlsx', file)).toContain(
        'Columns of sheet `S`: 2 rows of 2 columns. The Excel table `Orders` (D5:E8) without its totals row. ' +
          '1 row has cells outside of it, left out.',
      );
    });

    it('which are several, or have no row of names', async () => {
      const rows = [row(1, 20, 'x', 7), row(2, 30, 'y', 8)];
      const file = zip(
        bookParts(rows, {
          'xl/worksheets/_rels/sheet1.xml.rels': relationships(
            ['table', '../tables/table1.xml'],
            ['table', '../tables/table2.xml'],
          ),
          'xl/tables/table1.xml': table('Orders', 'A1:B2', 'headerRowCount="0"'),
          'xl/tables/table2.xml': table('Names', 'C1:D2', 'headerRowCount="0"', ['name', 'n']),
        }),
      );
      expect(await ask('select sum(amount) from a_orders', 'a.xlsx', file)).toContain('| 50 |');
      expect(await ask('select name, n from a_names', 'a.xlsx', file)).toContain('| `y` | 8 |');
    });
  });

  it('leave out columns without a value, and say so', async () => {
    const rows = [
      `<row r="1"><c r="B1" t="str"><v>a</v></c><c r="C1" t="str"><v>b</v></c><c r="ZZ1" t="str"><v>far away</v></c></row>`,
      `<row r="2"><c r="B2"><v>1</v></c><c r="C2"><v>2</v></c></row>`,
    ];
    const answer = await describeOne('a.xlsx', zip(bookParts(rows)));
    expect(answer).toContain('1 row of 3 columns. 699 columns without a value left out.');
    expect(answer).toContain('| `a` | integer |');
  });

  it('say how many rows and columns of a sheet are not shown, and which sheets are hidden', async () => {
    const rows = Array.from({ length: 9 }, () => row(...Array.from({ length: 11 }, (_, index) => index)));
    expect(await describeOne('a.xlsx', zip(bookParts(rows)))).toContain('(3 more rows, 3 more columns.)');
    const content =
      '<style:style style:name="ta1" style:family="table"><style:table-properties table:display="false"/></style:style>' +
      `<table:table table:name="S" table:style-name="ta1">${openRow(openNumber(1))}</table:table>`;
    expect(await describeOne('a.ods', openDocumentOf('spreadsheet', `<a>${content}</a>`))).toContain(
      'Sheet `S` (hidden): 1 row × 1 column.',
    );
  });
});
