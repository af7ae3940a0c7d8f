import { zipOf } from '../../../../test/support/hostile-files.mjs';
import { answerOf, filePart } from '../../../../test/support/files-agent.js';
import { FilesHandler, FilesLimits } from '../index.js';

/** A workbook of one sheet that has these cells. */
function workbookOf(cells: Record<string, string | number>) {
  const rows = Object.entries(cells).map(([at, value]) => {
    const type = typeof value === 'number' ? 'n' : 'str';
    return `<row r="${at.slice(1)}"><c r="${at}" t="${type}"><v>${value}</v></c></row>`;
  });
  const parts = {
    'xl/workbook.xml': '<workbook><sheets><sheet name="Data" sheetId="1" r:id="rId1"/></sheets></workbook>',
    'xl/_rels/workbook.xml.rels':
      '<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>',
    'xl/worksheets/sheet1.xml': `<worksheet><sheetData>${rows.join('')}</sheetData></worksheet>`,
  };
  return zipOf(Object.entries(parts).map(([name, text]) => [name, Buffer.from(text)]));
}

describe('A table', () => {
  let handler: FilesHandler;

  beforeAll(() => {
    handler = new FilesHandler(Object.assign(new FilesLimits(), { processes: 1 }));
  });

  afterAll(() => handler.onApplicationShutdown());

  const ask = (content: string, ...texts: string[]) =>
    answerOf(handler, [filePart('a.csv', content), ...texts]);

  it.each([
    ['No,Name,Amount\n1,Ada,10\n2,Grace,20\n', 'select sum("Amount"), min("No") from a', '| 30 | 1 |'],
    ['Question,Yes,No\nTea?,10,20\nCoffee?,5,6\n', 'select sum("Yes"), sum("No") from a', '| 15 | 26 |'],
    ['Name,Age,25%,75%\nAda,36,1.5,3.5\n', 'select "25%" + "75%" from a', '| 5 |'],
    ['id,0,1,2\n5,1,2,3\n6,4,5,6\n', 'select sum("0"), sum("2") from a', '| 5 | 9 |'],
    ['"Order\r\nNo.",Amount\r\n1,10\r\n', 'select "Order\nNo.", "Amount" from a', '| 1 | 10 |'],
    ['Sales,,\n,,\nregion,city,amount\nN,Oslo,5\nS,Rome,6\n', 'select sum(amount) from a', '| 11 |'],
  ])('%j has its names from a row of names', async (content, statement, said) => {
    expect(await ask(content, statement)).toContain(said);
  });

  it('has the first row full of names over values as its names, and says what is before it', async () => {
    const notes =
      'Many people,,,\ncannot resist writing,,,notes\nat,the,,top\nName,Job,Age,Born\nBowie,musician,69,1947-01-08\n' +
      'Fisher,actor,60,1956-10-21\n';
    const answer = await ask(notes);
    expect(answer).toContain('2 rows of 4 columns, separated by commas; the first line names the columns.');
    expect(answer).toContain('3 rows before the table: `Many people`, `cannot resist writing`, `notes` ….');
    expect(answer).toContain('| `Age` | integer | 0 | 2 | `60` | `69` | 64.5 |');
    expect(answer).not.toContain('not certain');
  });

  it('has its names below rows without a value, and says that these are left out', async () => {
    const answer = await ask(',,\n,,\ndate,agency,name\nMonday,North,Ada\n');
    expect(answer).toContain('1 row of 3 columns, separated by commas; the first line names the columns.');
    expect(answer).toContain('2 rows without a value before the table left out.');
    expect(answer).toContain('| `agency` | text |');
    expect(await ask(',\nOslo,5\n', 'select sum(column_2) from a')).toContain('| 5 |');
  });

  it('of texts under a title says that its names are not certain', async () => {
    const answer = await ask('Contacts,,\n,,\nname,city,mail\nada,Turku,a@b\ngrace,Oulu,c@d\n');
    expect(answer).toContain('2 rows of 3 columns');
    expect(answer).toContain(
      '2 rows before the table: `Contacts`. Which row names the columns is not certain.',
    );
  });

  it('of a sheet has a title and an empty row before its names', async () => {
    const cells = { A1: 'Sales report', A3: 'city', B3: 'amount', A4: 'Oslo', B4: 5, A5: 'Rome', B5: 6 };
    const file = filePart('a.xlsx', workbookOf(cells));
    const answer = await answerOf(handler, [file]);
    expect(answer).toContain(
      'Columns of sheet `Data`: 2 rows of 2 columns. 2 rows before the table: `Sales report`.',
    );
    expect(answer).toContain('| `amount` | integer | 0 | 2 | `5` | `6` | 5.5 |');
    expect(await answerOf(handler, [file, 'select sum(amount) from a_data'])).toContain('| 11 |');
  });

  it('says that its last row looks like a total, and that its second row looks like names', async () => {
    expect(await ask('day,amount\n2024-01-02,20\n2024-01-03,40\nTotal,60\n')).toContain(
      'The last row looks like a total, and is read as a row: `Total`, `60`.',
    );
    expect(await ask('Region,2023,,2024,\n,Sales,Cost,Sales,Cost\nNorth,1,2,3,4\nSouth,5,6,7,8\n')).toContain(
      'A second row looks like names or units, and is read as a row: `Sales`, `Cost`, `Sales` ….',
    );
    expect(await ask('2023,,2024,\nSales,Cost,Sales,Cost\n1,2,3,4\n5,6,7,8\n')).toContain(
      '1 row before the table: `2023`, `2024`.',
    );
    expect(await ask('No,Amount\n1,"$1,200.00"\n2,$80\nTotal,"$1,280.00"\n')).toContain(
      'The last row looks like a total, and is read as a row: `Total`, `$1,280.00`.',
    );
    expect(await ask('name,amount\nada,20\ngrace,40\n')).not.toContain('looks like');
  });

  it.each([
    [
      'region,amount\nA,1\nTotal A,1\nB,4\nNord Ergebnis,4\nGrand total,5\n',
      'is read as 2 more rows: `Total A`, `Nord Ergebnis`.',
    ],
    ['region,amount\nSumme,7\nA,3\nB,4\n', 'What looks like a total is read as 1 row: `Summe`.'],
    ['region,amount\nA,3\n小計,3\nB,4\n', 'What looks like a total is read as 1 row: `小計`.'],
    ['region,amount\nA,3\nTotal,3\n,\nSource: a ministry,\n', 'The last row looks like a total'],
    [
      'region,city,amount\nA,B,3\n\nSource: a ministry\nPreliminary figures\n',
      'What looks like notes at the end is read as 2 rows: `Source: a ministry`, `Preliminary figures`.',
    ],
  ])('%j says with its sum what is read as a row', async (content, said) => {
    for (const name of ['small.csv', 'large.csv']) {
      const filler = name === 'large.csv' ? `${'x'.repeat(70_000)},\n` : '';
      const file = filePart(name, content.replace('\n', `\n${filler}`));
      expect(await answerOf(handler, [file])).toContain(said);
      expect(await answerOf(handler, [file, `select sum(amount) from ${name.slice(0, 5)}`])).toContain(said);
    }
  });

  it.each([
    ['Region,1,2,3\nA,5,6,7\nB,8,9,9\n', 'sum("1")', '| 13 |', 'Which row names the columns is not certain.'],
    ['#id,n\n1,2\n3,4\n', 'sum("#id")', '| 4 |', ''],
    ['# made, today\nid,n\n1,2\n', 'sum(id)', '| 1 |', '1 comment line before the table.'],
    [
      'Name,10,20\nA,1,2\nB,3,4\n',
      'sum(column_2)',
      '| 14 |',
      'The first row is read as values; it may name the columns.',
    ],
    [
      'Region,2023,,2024\nRegion,Sales,Cost,Sales\nA,1,2,3\nB,4,5,6\n',
      'sum("Sales")',
      '| 5 |',
      '1 row before the table: `Region`, `2023`, `2024`. Which row names the columns is not certain.',
    ],
  ])('%j has names, or says that they are not certain', async (content, figure, value, said) => {
    const answer = await ask(content, `select ${figure} from a`);
    expect(answer).toContain(value);
    expect(answer).toContain(said);
  });

  it.each([
    [
      'a;b\n1,234;x\n5,678;y\n',
      '| 6912 |',
      'In `a`, commas are read as those between thousands, which is a guess',
    ],
    ['a;b\n1.234;x\n5.678;y\n', '| 6.912 |', 'In `a`, points are read as decimal points, which is a guess'],
    ["a;b\nCHF 1'234.50;x\nCHF 5.00;y\n", '| 1239.5 |', ''],
    ['a;b\n1 234,50 €;x\n5,00 €;y\n', '| 1239.5 |', ''],
    ['a;b\n−5;x\n6.5;y\nn.a.;z\n', '| 1.5 |', '1 cell such as `NA`'],
  ])('%j has a sum, with what is a guess', async (content, sum, said) => {
    const answer = await ask(content, 'select sum(a) from a');
    expect(answer).toContain(sum);
    expect(answer).toContain(said);
    if (!said.includes('guess')) expect(answer).not.toContain('guess');
  });

  it.each([
    ['2024-03-04T10:00:00+02:00', '2024-03-04 08:00:00', 'In `t`, times with an offset are shown in UTC.'],
    ['1:05 PM', '13:05:00', ''],
    ['02-JAN-2024', '2024-01-02', ''],
    ['2024年1月5日', '2024-01-05', ''],
  ])('has the time %s', async (time, shown, said) => {
    const answer = await ask(`t,n\n${time},1\n`, 'select t from a');
    expect(answer).toContain(`| \`${shown}\` |`);
    expect(answer.startsWith(said && `About \`a\`: ${said}`)).toBe(true);
  });

  it('says why a statement fails, if a row below the names is the reason', async () => {
    expect(await ask('name,dist\n,km\nA,1\nB,3\n', 'select sum(dist) from a')).toMatch(
      /^About `a`: A second row looks like names or units, and is read as a row: `km`\.\n\nThis statement cannot/,
    );
  });

  it('of JSON says which of its rows looks like a total', async () => {
    const rows = [
      { region: 'A', n: 3 },
      { region: 'Total', n: 3 },
    ];
    const file = filePart('a.json', JSON.stringify(rows));
    expect(await answerOf(handler, [file, 'select sum(n) from a'])).toContain(
      'About `a`: What looks like a total is read as 1 row: `Total`.',
    );
  });

  it('takes a row with money for data', async () => {
    expect(await ask('Ann,$5\nBob,$6\n')).toContain(
      '2 rows of 2 columns, separated by commas; no line of column names.',
    );
    expect(await ask('Ann,"5,00 €"\nBob,"6,00 €"\n')).toContain('no line of column names.');
  });

  it.each([
    [
      String.raw`1,"He said \"hi\", ok"|2,"C:\\temp\\"|3,"it\'s, so"`,
      '`\\"`',
      ['He said "hi", ok', 'C:\\temp\\', "it's, so"],
    ],
    [`1,'a, b'|2,'it''s'|3,'say "x"'`, "quoted with `'`", ['a, b', "it's", 'say "x"']],
    [String.raw`1;'a, b'|2;'it\'s'|3;c`, "`\\'`", ['a, b', "it's", 'c']],
  ])('has the cells of %s', async (rows, note, cells) => {
    const content = `id${rows[1]}said\n${rows.replaceAll('|', '\n')}\n`;
    const answer = await ask(content, 'select said from a');
    for (const cell of cells) expect(answer).toContain(`| \`${cell}\` |`);
    expect(answer).toContain('(3 rows.)');
    expect(answer).toContain(note);
  });

  it('has quotes of RFC 4180, where others are only characters', async () => {
    const content = 'id,path\n1,"C:\\dir\\"\n2,"x, ""y"""\n';
    expect(await ask(content, 'select path from a')).toBe(
      '| `path` |\n| --- |\n| `C:\\dir\\` |\n| `x, "y"` |\n\n(2 rows.)\n\n',
    );
    expect(await ask("id,year\n1,'90s\n2,'80s'\n", 'select year from a')).toContain("| `'80s'` |");
  });

  it('has no value in a cell that a database has written as one without', async () => {
    const content = 'title,year\nA,2001\nB,\\N\n\\N,2003\n';
    expect(await ask(content)).toContain('| `year` | integer | 1 | 2 |');
    const answer = await ask(content, 'select sum(year), count(title) from a');
    expect(answer).toContain('| 4004 | 2 |');
    expect(answer).toContain('About `a`: Cells with `\\N` are read as missing.');
  });

  it('that has rows left out says so first in each answer that depends on it', async () => {
    const rows = Array.from({ length: 300 }, (_, index) => `${index},x\n`).join('');
    const content = `id,name\n${rows}300,y,wide\n301,z,wide\n`;
    const note =
      'About `a`: 2 rows left out, with more than 2 cells or wrong quotes: rows 302, 303, ' +
      'counted from the first row of the table.\n\n';
    for (const request of ['select count(*) from a', 'summarize a', 'a as csv', 'summarize a as csv'])
      expect((await ask(content, request)).indexOf(note)).toBe(0);
    expect(await ask(content, 'select id, id as n from a limit 3 as chart')).toContain(note);
    expect(await ask('id,name\n1,x\n', 'select count(*) from a')).not.toContain('About');
  });
});
