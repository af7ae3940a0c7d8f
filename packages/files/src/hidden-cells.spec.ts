import { answerOf, filePart } from '../../../test/support/files-agent.js';
import { openDocumentOf, zipOf } from '../../../test/support/hostile-files.mjs';
import { FilesHandler } from './index.js';

const HEADER = '<row><c t="str"><v>a</v></c><c t="str"><v>n</v></c></row>';
const numbers = (attributes: string, ...values: number[]) =>
  `<row${attributes}>${values.map((value) => `<c><v>${value}</v></c>`).join('')}</row>`;

/** A workbook with the sheet `S`. */
function workbookOf(rows: string[], columns = '', state = ''): Buffer {
  const parts = {
    'xl/workbook.xml': `<workbook><sheets><sheet name="S" r:id="rId1"${state}/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels':
      '<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>',
    'xl/worksheets/sheet1.xml': `<worksheet>${columns}<sheetData>${rows.join('')}</sheetData></worksheet>`,
  };
  return zipOf(Object.entries(parts).map(([name, text]) => [name, Buffer.from(text)]));
}

const openCell = (text: string, attributes = 'office:value-type="string"') =>
  `<table:table-cell ${attributes}><text:p>${text}</text:p></table:table-cell>`;
const openNumber = (value: number, text: string) =>
  openCell(text, `office:value-type="float" office:value="${value}"`);
const openRow = (attributes: string, ...cells: string[]) =>
  `<table:table-row${attributes}>${cells.join('')}</table:table-row>`;
const openSheet = (...rows: string[]) =>
  openDocumentOf('spreadsheet', `<table:table table:name="S">${rows.join('')}</table:table>`);

describe('Sheets', () => {
  let handler: FilesHandler;

  beforeAll(() => {
    handler = new FilesHandler();
  });

  afterAll(() => handler.onApplicationShutdown());

  const ask = (name: string, content: Buffer, text: string) =>
    answerOf(handler, [filePart(name, content), text]);

  it.each([
    ['a.xlsx', workbookOf([HEADER, numbers(' hidden="1"', 1, 10), numbers('', 2, 20)])],
    [
      'a.ods',
      openSheet(
        openRow('', openCell('a'), openCell('n')),
        openRow(' table:visibility="filter"', openNumber(1, '1'), openNumber(10, '10')),
        openRow('', openNumber(2, '2'), openNumber(20, '20')),
      ),
    ],
  ])('as %s say with a sum that cells of it are hidden', async (name, content) => {
    const answer = await ask(name, content, 'select sum(n) from a_s');
    expect(answer).toContain(
      '2 cells have a place in a row or column that is hidden; it is read as any other.',
    );
    expect(answer).toContain('| 30 |');
  });

  it('say with a sum that they are hidden, or a column of them', async () => {
    const columns = '<cols><col min="2" max="2" hidden="true"/></cols>';
    const content = workbookOf([HEADER, numbers('', 1, 10)], columns, ' state="hidden"');
    expect(await ask('a.xlsx', content, 'select sum(n) from a_s')).toContain(
      'About `a_s`: This sheet is hidden. 2 cells have a place in a row or column that is hidden',
    );
  });

  it('of OpenDocument have the zeros and spaces that programs show', async () => {
    const content = openSheet(
      openRow('', openCell('zip'), openCell('t')),
      openRow('', openNumber(1067, '01067'), openCell('a<text:s text:c="3"/>b')),
    );
    expect(await ask('a.ods', content, 'from a_s')).toContain('| `01067` | `a   b` |');
  });
});
