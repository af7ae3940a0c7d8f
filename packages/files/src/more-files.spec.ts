import * as XLSX from '@e965/xlsx';
import { answerOf, filePart } from '../../../test/support/files-agent.js';
import { FilesHandler } from './index.js';

const ORDERS = XLSX.utils.aoa_to_sheet([
  ['Orders of March'],
  [],
  ['id', 'city', 'amount', 'on', 'note'],
  [1, 'Oslo', 12.5, undefined, 'a'],
  [2, 'Rome', 7.25, undefined, ''],
  [3, 'Oslo', 1234567.89, undefined, 'b'],
]);
for (const row of [4, 5, 6]) ORDERS[`D${row}`] = { t: 'n', v: 45350 + row, z: 'yyyy-mm-dd' };
ORDERS['G9'] = { t: 'n', v: 1 };
ORDERS['!ref'] = 'A1:G9';

function workbook(bookType: XLSX.BookType, cells: XLSX.WorkSheet = {}): Buffer {
  const book = XLSX.utils.book_new();
  XLSX.utils.book_append_sheet(book, { ...ORDERS, ...cells }, 'Orders');
  XLSX.utils.book_append_sheet(book, XLSX.utils.aoa_to_sheet([['city', 'land'], ['Oslo', 'Norway']]), 'Places'); // prettier-ignore
  return XLSX.write(book, { type: 'buffer', bookType }) as Buffer;
}

const OLDER: [name: string, type: XLSX.BookType][] = [
  ['book.xls', 'biff8'],
  ['book.xlsb', 'xlsb'],
  ['book.xml', 'xlml'],
];

describe('A workbook of an older format', () => {
  const handler = new FilesHandler();
  const ask = (text: string, name: string, content: Buffer) =>
    answerOf(handler, [text, filePart(name, content)]);

  afterAll(() => handler.onApplicationShutdown());

  it.each(OLDER)('%s answers as the same workbook in XLSX', async (name, type) => {
    for (const request of [
      'select * from book_orders',
      'summarize book_orders',
      'select land, sum(amount) from book_orders join book_places using (city) group by land',
      'find Rome',
      'sheet orders',
      'outline',
      'text',
    ]) {
      const answer = await ask(request, name, workbook(type));
      const usual = await ask(request, 'book.xlsx', workbook('xlsx'));
      expect([request, answer.replaceAll(name, 'book.xlsx')]).toEqual([request, usual]);
    }
  });

  it('is described with its sheets, their first rows and columns', async () => {
    const text = await ask('describe', 'book.xls', workbook('biff8', { E5: { t: 'e', v: 0x2a } }));
    expect(text).toContain('**Excel workbook of 97 to 2003 (XLS)**');
    expect(text).toContain('2 sheets.');
    expect(text).toMatch(
      /Table `Orders`: 4 rows of 6 columns\. .*1 cell has an error \(`#N\/A`\), read as missing\./,
    );
    expect(text).toContain('Table `Places`: 1 row of 2 columns.');
  });

  it('may be a tab-separated text or a web page that is named as one', async () => {
    const text = Buffer.from('\ufeffcity\tamount\nOslo\t1.5\nRome\t2\n', 'utf16le');
    expect(await ask('select sum(amount) as s from export', 'export.xls', text)).toContain('| 3.5 |');
    const page = '<table><tr><th>city<th>amount<tr><td>Oslo<td>1.5<tr><td>Rome<td>2</table>';
    const sum = 'select sum(amount) as s from export_sheet1';
    expect(await ask(sum, 'export.xls', Buffer.from(page))).toContain('| 3.5 |');
  });

  it('that cannot be read says why, also where a statement asks it', async () => {
    const content = workbook('biff8');
    const cut = content.subarray(0, content.length - 700);
    const why = 'Excel workbook of 97 to 2003 (XLS): it is broken or cut off.';
    expect(await ask('describe', 'book.xls', cut)).toContain(why);
    expect(await ask('select * from book', 'book.xls', cut)).toContain(why);
  });
});
