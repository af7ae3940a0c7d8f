import { describedBy } from '../../../test/support/described-file.js';
import { openDocumentOf, zipOf } from '../../../test/support/hostile-files.mjs';
import { FilesHandler } from './index.js';

const docxOf = (body: string, others: [string, string][] = []) =>
  zipOf(
    [['word/document.xml', `<w:document><w:body>${body}</w:body></w:document>`], ...others].map(
      ([name, content]) => [name!, Buffer.from(content!)],
    ),
  );

describe('A document', () => {
  let handler: FilesHandler;

  beforeAll(() => {
    handler = new FilesHandler();
  });

  afterAll(() => handler.onApplicationShutdown());

  describe('has the first rows of its tables in its description', () => {
    const ROWS = ['Region,City', 'South,Rome', 'Naples,40', 'x,y', 'v,w', 'v2,w2'].map((row) =>
      row.split(','),
    );
    const LONG =
      '| `Region` | `City` |\n| --- | --- |\n| `South` | `Rome` |\n| `Naples` | `40` |\n| `x` | `y` |\n\n(2 more rows.)';
    const rowsOf = (row: (cells: string[]) => string) => ROWS.map(row).join('');
    const inCells = (before: string, after: string) => (cells: string[]) =>
      cells.map((cell) => `${before}${cell}${after}`).join('');

    it.each<[string, string | Buffer]>([
      [
        'a.html',
        `<table>${rowsOf((cells) => `<tr>${inCells('<td>', '</td>')(cells)}</tr>`)}</table><p>x</p>`,
      ],
      [
        'a.docx',
        docxOf(
          `<w:tbl>${rowsOf((cells) => `<w:tr>${inCells('<w:tc><w:p><w:r><w:t>', '</w:t></w:r></w:p></w:tc>')(cells)}</w:tr>`)}</w:tbl>`,
        ),
      ],
      [
        'a.odt',
        openDocumentOf(
          'text',
          `<table:table>${rowsOf((cells) => `<table:table-row>${inCells('<table:table-cell><text:p>', '</text:p></table:table-cell>')(cells)}</table:table-row>`)}</table:table>`,
        ),
      ],
      [
        'a.rtf',
        `{\\rtf1 ${rowsOf((cells) => `\\trowd\\cellx1\\cellx2\\pard\\intbl ${inCells('', '\\cell ')(cells)}\\trowd\\cellx1\\cellx2\\row `)}\\pard after\\par}`,
      ],
    ])('of %s, and how many there are more', async (name, content) => {
      expect(await describedBy(handler, name, content)).toContain(LONG);
    });

    const MERGED =
      '| `Region` | `City` | `Sum` |\n| --- | --- | --- |\n| `North` | `Oslo` | `1` |\n|  | `Bergen` | `2` |\n| `Total` |  | `3` |';

    it.each<[string, string | Buffer]>([
      [
        'a.html',
        '<table><tr><th>Region<th>City<th>Sum<tr><td rowspan=2>North<td>Oslo<td>1<tr><td>Bergen<td>2' +
          '<tr><td colspan=2>Total<td>3</table>',
      ],
      [
        'a.docx',
        docxOf(
          `<w:tbl>${[
            ['Region', 'City', 'Sum'],
            ['North', 'Oslo', '1'],
            ['', 'Bergen', '2'],
          ]
            .map(
              (row) =>
                `<w:tr>${inCells('<w:tc><w:tcPr><w:vMerge/></w:tcPr><w:p><w:r><w:t>', '</w:t></w:r></w:p></w:tc>')(row)}</w:tr>`,
            )
            .join(
              '',
            )}<w:tr><w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr><w:p><w:r><w:t>Total</w:t></w:r></w:p></w:tc>` +
            '<w:tc><w:p><w:r><w:t>3</w:t></w:r></w:p></w:tc></w:tr></w:tbl>',
        ),
      ],
      [
        'a.odt',
        openDocumentOf(
          'text',
          '<table><table-row><table-cell><p>Region</p></table-cell><table-cell><p>City</p></table-cell><table-cell><p>Sum</p></table-cell></table-row>' +
            '<table-row><table-cell table:number-rows-spanned="2"><p>North</p></table-cell><table-cell><p>Oslo</p></table-cell><table-cell><p>1</p></table-cell></table-row>' +
            '<table-row><covered-table-cell/><table-cell><p>Bergen</p></table-cell><table-cell><p>2</p></table-cell></table-row>' +
            '<table-row><table-cell table:number-columns-spanned="2"><p>Total</p></table-cell><covered-table-cell/><table-cell><p>3</p></table-cell></table-row></table>',
        ),
      ],
    ])('of %s, each cell in its column beside merged cells', async (name, content) => {
      expect(await describedBy(handler, name, content)).toContain(MERGED);
    });

    it('of a page with a table in another and with columns that are not shown', async () => {
      const inner = '<table><tr><td>a</table>';
      const row = `<tr>${Array.from({ length: 11 }, (_, at) => `<td>c${at}`).join('')}`;
      const answer = await describedBy(
        handler,
        'a.html',
        `<table><tr><td>${inner.repeat(4)}${row}</table><table><tr><td colspan=1000000 rowspan=99999>x<tr><td>y</table>`,
      );
      expect(answer).toContain(
        '| `c0` | `c1` | `c2` | `c3` | `c4` | `c5` | `c6` | `c7` |\n\n(3 more columns.)',
      );
      expect(answer).toContain('Table 2 begins:\n\n| `x` |\n| --- |\n| `y` |');
    });

    it('of RTF with several tables', async () => {
      const table = (cell: string) => `\\trowd\\cellx1\\pard\\intbl ${cell}\\cell\\row `;
      const answer = await describedBy(
        handler,
        'a.rtf',
        `{\\rtf1 ${table('one')}${table('two')}\\pard between\\par ${table('three')}\\pard after\\par}`,
      );
      expect(answer).toContain('2 tables.');
      expect(answer).toContain('| `one` |\n| --- |\n| `two` |\n\nTable 2 begins:\n\n| `three` |');
    });
  });
});
