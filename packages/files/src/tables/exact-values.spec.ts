import { answerOf, filePart } from '../../../../test/support/files-agent.js';
import { IS_LONG } from '../../../../test/support/long-form.js';
import { FilesHandler, FilesLimits } from '../index.js';

/** A table with a column of names and very many of numbers. */
function wideTable(rows: number, width: number): string {
  const numbers = Array.from({ length: width - 1 }, (_, index) => index);
  const line = (row: number) => numbers.map((index) => (((row * 7919 + index) % 1000) / 8).toFixed(3));
  const lines = Array.from({ length: rows }, (_, row) => [`n${row}`, ...line(row)]);
  return [['name', ...numbers.map((index) => `c${index}`)], ...lines].map((cells) => cells.join()).join('\n');
}

describe('The values of tables', () => {
  let handler: FilesHandler;

  beforeAll(() => {
    handler = new FilesHandler(Object.assign(new FilesLimits(), { processes: 1 }));
  });
  afterAll(() => handler.onApplicationShutdown());

  /** The answer about a file, without empty lines at its end. */
  async function ask(request: string, csv: string, name = 't.csv'): Promise<string> {
    return (await answerOf(handler, [filePart(name, csv), request])).trimEnd();
  }

  /** The cells of the only row of an answer. */
  async function row(sql: string, csv: string): Promise<string[]> {
    const [, , cells = ''] = (await ask(sql, csv)).split('\n');
    return cells
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
  }

  /** The types of the columns, in words. */
  async function types(csv: string): Promise<string[]> {
    const [, , ...rows] = (await ask('summarize t', csv)).split('\n');
    return rows.map((line) => line.split('|')[2]!.trim());
  }

  it.each([
    ['1234567890123456789', '1234567890123456790', 'integer'],
    ['9223372036854775807', '9223372036854775806', 'integer'],
    ['9223372036854775808', '9223372036854775809', 'text'],
    ['12345678901234567890', '12345678901234567891', 'text'],
    ['123456789012345678901234', '123456789012345678901235', 'text'],
    ['12345678901234567890123456789012345678', '12345678901234567890123456789012345679', 'text'],
  ])('have all digits of the integers %s and %s', async (first, second, type) => {
    const csv = `id,name\n${first},a\n${second},b\n`;
    expect(await types(csv)).toEqual([type, 'text']);
    expect(await row('select count(distinct id), min(id), max(id) from t', csv)).toEqual([
      '2',
      ...[first, second].toSorted().map((id) => `\`${id}\``),
    ]);
    expect(await row(`select name from t where id = ${second}`, csv)).toEqual(['`b`']);
    expect(await row(`select count(*) from t a join t b using (id)`, csv)).toEqual(['2']);
    expect(await ask('from t as csv', csv)).toContain(`\`${first}\``);
  });

  it('are left out of a Parquet file where a decimal may have more than 38 digits, which the answer says', async () => {
    // Two columns: `id`, and `amount` as DECIMAL(76,2) in bytes, 1.00 and 2.50.
    const file = filePart(
      'wide.parquet',
      Buffer.from(
        'UEFSMRUGFRAVEFwVBBUAFQQVABUAFQAAAAEAAAACAAAAFQYVFhUWXBUEFQAVBBUAFQAVAAAAAQAAAGQCAAAAAPoVBBk8SARyb290FQQAFQIlABgC' +
          'aWQAFQwlABgGYW1vdW50JQoVBBWYAQAWBBkcGSwmCBwVAhkVABkYAmlkFQAWBBY6FjomCAAAJkIcFQwZFQAZGAZhbW91bnQVABYEFkAWQCZC' +
          'AAAWehYENnoAKAloeXBhcnF1ZXQZLBwAABwAAACBAAAAUEFSMQ==',
        'base64',
      ),
    );
    const sentence = '1 column with decimals of more than 38 digits is not read: `amount`.';
    for (const request of ['describe', 'select sum(id) as ids from wide'])
      expect(await answerOf(handler, [file, request])).toContain(sentence);
    expect(await answerOf(handler, [file, 'select sum(id) as ids from wide'])).toContain('| 3 |');
  });

  it('have all of twenty decimals, and say where they have less', async () => {
    expect(await row('select sum(x) from t', 'x,n\n0.12345678901234567891,a\n1.5,b\n')).toEqual([
      '`1.62345678901234567891`',
    ]);
    expect(await types('x,n\n0.30000000000000004,a\n12.345678901234567,b\n')).toEqual(['number', 'text']);
    expect(await ask('select max(x) from t', 'x,n\n0.1234567890123456789012345,a\n0.5,b\n')).toMatch(
      /^About `t`: In `x`, numbers are rounded to 17 digits: the file has more\./,
    );
  });

  it('of JSON have the digits that a double loses', async () => {
    const json = '[{"n":9007199254740993.01,"o":{"p":1.5}},{"n":1.5,"o":null}]';
    const answer = await ask('select sum(n) from t', json, 't.json');
    expect(answer).toContain('| `9007199254740994.51` |');
    expect(answer).toContain('Numbers in objects and lists are rounded to 17 digits; some have more.');
    expect(await ask('select sum(n) from t', '[{"n":NaN},{"n":1.5}]', 't.json')).toBe(
      'About `t`: 1 cell such as `NA` in columns of numbers or dates read as missing.\n\n' +
        '| `sum(n)` |\n| --- |\n| 1.5 |\n\n(1 row.)',
    );
  });

  it('are texts where a column has long integers beside other numbers', async () => {
    const csv = 'a\n1234567890123456789\n1.5\n';
    expect(await types(csv)).toEqual(['text']);
  });

  it('have all digits of amounts', async () => {
    const csv =
      'amount,long,grouped\n123456789012.34,12345678901234567.89,"12,345,678,901,234,567.89"\n987654321098.76,0.5,1.00\n';
    expect(await row('select sum(amount), sum(long), max(grouped) from t', csv)).toEqual([
      '1111111110111.1',
      '`12345678901234568.39`',
      '`12345678901234567.89`',
    ]);
    expect(await row('select min(amount), 0.1 + 0.2 from t', csv)).toEqual(['123456789012.34', '0.3']);
  });

  it.each([
    ['number ($)', '"$1,200.00"', '-$5.5', 1194.5],
    ['number (€, decimal comma)', '"1.200,00 €"', '"-5,5 €"', 1194.5],
    ['number (£)', '£1200', '(£5.5)', 1194.5],
    ['number (percent)', '12.5%', '3 %', 15.5],
    ['number (percent, decimal comma)', '"12,5 %"', '"3,25%"', 15.75],
    ['number (brackets if negative)', '(123.45)', '"1,000"', 876.55],
    ['number (space between thousands)', '1 234', '"1 000,5"', 2234.5],
    ['number (space between thousands)', '1\u00a0234', '1\u202f000', 2234],
    ['number (apostrophe between thousands)', "1'234.50", '5', 1239.5],
  ])('are numbers in a column of the type %s: %s', async (type, first, second, sum) => {
    const csv = `name,a\nx,${first}\ny,${second}\n`;
    expect(await types(csv)).toEqual(['text', type]);
    expect(await row('select sum(a) from t', csv)).toEqual([String(sum)]);
  });

  it.each([
    ['calls', '+4930123456', '+4930123457'],
    ['two currencies', '$5', '€5'],
    ['numbers with a zero in front', '01 234', '05 678'],
    ['versions', '1.2.3', '1.2.4'],
  ])('are texts in a column of %s', async (_, first, second) => {
    expect(await types(`name,a\nx,${first}\ny,${second}\n`)).toEqual(['text', 'text']);
  });

  it.each([
    ['date', '2024/01/02', '2024/12/31', '`2024-12-31`'],
    ['date', '02-Jan-2024', '3 May 2024', '`2024-05-03`'],
    ['date', 'Jan 1 2000', '"January 5, 2024"', '`2024-01-05`'],
    ['date and time', '2015/01/01 01:00:00', '2015/01/01', '`2015-01-01 01:00:00`'],
    ['date and time (month first)', '3/25/2024 11:59 AM', '3/26/2024 12:05 AM', '`2024-03-26 00:05:00`'],
    ['date and time (day first)', '25/3/2024 9:05', '1/4/2024 23:59', '`2024-04-01 23:59:00`'],
    ['time', '9:05', '23:59:30', '`23:59:30`'],
    [
      'text (dates; which number is the day is not certain)',
      '3/5/2024 9:05',
      '4/5/2024 9:05',
      '`4/5/2024 9:05`',
    ],
  ])('are read in a column of the type %s: %s and %s', async (type, first, second, last) => {
    const csv = `name,a\nx,${first}\ny,${second}\n`;
    expect(await types(csv)).toEqual(['text', type]);
    expect(await row('select max(a) from t', csv)).toEqual([last]);
  });

  const sizes: [number, number][] = [
    [219, 58],
    [100, 450],
    ...(IS_LONG ? [[100, 1000] as [number, number]] : []),
  ];
  it.each(sizes)('are known of a table of %d rows and %d columns', async (rows, width) => {
    const csv = wideTable(rows, width);
    expect(await row(`select count(*), sum(c${width - 2}) > 0 from t`, csv)).toEqual([String(rows), 'true']);
    expect(await ask('describe', csv)).toContain(`${rows} rows of ${width.toLocaleString('en-US')} columns`);
  });
});
