import { chartOf } from './chart-data.js';

const table = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((row) => row.split('|').map((cell) => cell.trim()));

const CITIES = table(`
  City  | Orders | Paid | Amount
  Oslo  | 12     | 12   | € 1,204.50
  Lima  | 28     |      | € 900.00
  Accra | 41     | 39   | € -20.00`);

describe('The chart of a table', () => {
  it('has the texts that name the rows, and the numbers, those of one size together', () => {
    const chart = chartOf(CITIES)!;
    expect(chart).toMatchObject({
      name: 'City',
      labels: ['Oslo', 'Lima', 'Accra'],
      times: undefined,
      rows: 3,
      total: undefined,
    });
    expect(chart.scales).toEqual([
      [
        { name: 'Orders', values: [12, 28, 41], texts: ['12', '28', '41'], before: '', after: '' },
        { name: 'Paid', values: [12, undefined, 39], texts: ['12', '', '39'], before: '', after: '' },
      ],
      [
        {
          name: 'Amount',
          values: [1204.5, 900, -20],
          texts: ['€ 1,204.50', '€ 900.00', '€ -20.00'],
          before: '€',
          after: '',
        },
      ],
    ]);
  });

  it('has numbers of other sizes apart', () => {
    const chart = chartOf(table('City | A | B | C\nOslo | 1 | 900 | 5\nLima | 2 | 800 | 9'))!;
    expect(chart.scales.map((scale) => scale.map(({ name }) => name))).toEqual([['A', 'C'], ['B']]);
  });

  it('has dates in their order', () => {
    const chart = chartOf(table('Day | Sales\n2026-03-05 | 2\n2026-03-04 | 1\n2026-03-06 |'))!;
    expect(chart.labels).toEqual(['2026-03-04', '2026-03-05', '2026-03-06']);
    expect(chart.times).toEqual([4, 5, 6].map((day) => Date.UTC(2026, 2, day)));
    expect(chart.scales[0]![0]).toMatchObject({ values: [1, 2, undefined], texts: ['1', '2', ''] });
  });

  it.each([
    ['a year in the first column', 'When | Sales\n2025 | 1\n2026 | 2'],
    ['a year in a column of this name', 'Sales | Fiscal year\n7 | 2025\n9 | 2026'],
  ])('has dates from %s', (_, text) =>
    expect(chartOf(table(text))!.times).toEqual([Date.UTC(2025, 0), Date.UTC(2026, 0)]),
  );

  it('has the first 50 rows, and says how many there are', () => {
    const rows = Array.from({ length: 70 }, (_, at) => [`City ${at}`, `${at * 7}`]);
    const { labels, rows: count } = chartOf([['City', 'Orders'], ...rows])!;
    expect([labels.length, count]).toEqual([50, 70]);
  });

  it('leaves out the row of totals, and says so', () => {
    const chart = chartOf([...CITIES, ['Total', '81', '51', '€ 2,084.50']])!;
    expect([chart.labels.length, chart.rows, chart.total]).toEqual([3, 3, 'Total']);
  });

  it('leaves out identifiers and one column of texts', () => {
    const chart = chartOf(
      table(
        '# | Order ID | City | Country | Orders\n1 | 77 | Oslo | NO | 4\n2 | 12 | Lima | PE | 9\n3 | 5 | Bergen | NO | 2',
      ),
    )!;
    expect([chart.name, chart.scales.flat().map(({ name }) => name)]).toEqual(['City', ['Orders']]);
  });

  it('takes years beside texts for no amounts', () => {
    const chart = chartOf(table('City | Year built | Seats\nOslo | 1999 | 700\nLima | 2004 | 800'))!;
    expect([chart.name, chart.scales.flat().map(({ name }) => name)]).toEqual(['City', ['Seats']]);
  });

  it('names rows by two columns, if one does not tell them apart', () => {
    const chart = chartOf(table('City | Product | Sold\nOslo | Lamp | 1\nOslo | Desk | 2\nLima | Lamp | 3'))!;
    expect([chart.name, chart.labels]).toEqual([
      'City, Product',
      ['Oslo · Lamp', 'Oslo · Desk', 'Lima · Lamp'],
    ]);
  });

  it('takes the decimal comma of one column for the others', () => {
    const chart = chartOf(table('Ort | Summe | Menge\nOslo | 1.204 | 1,5\nLima | 3.500 | 2'))!;
    expect(chart.scales.flat().map(({ values }) => values)).toEqual([
      [1204, 3500],
      [1.5, 2],
    ]);
  });

  it('has names for columns without one', () => {
    expect(chartOf(table(' | \nOslo | 1\nLima | 2'))).toMatchObject({
      name: 'Column 1',
      scales: [[{ name: 'Column 2' }]],
    });
  });

  it.each([
    ['nothing', ''],
    ['one column', 'Orders\n1\n2'],
    ['one row', 'City | Orders\nOslo | 12'],
    ['texts only', 'City | Country\nOslo | Norway\nLima | Peru'],
    ['numbers only', 'n | Square\n2 | 4\n3 | 9'],
    ['identifiers only', 'City | id\nOslo | 881\nLima | 882'],
    ['a count of the rows only', 'n | City\n1 | Oslo\n2 | Lima\n3 | Accra'],
    ['a rank only', 'City | Place\nOslo | 1\nLima | 2\nAccra | 3'],
    ['four columns of numbers', 'City | A | B | C | D\nOslo | 1 | 2 | 3 | 4\nLima | 2 | 3 | 4 | 9'],
    ['rows that no column names', 'City | Orders\nOslo | 12\nOslo | 13'],
    ['several rows for a date', 'Day | City | Orders\n2026-03-04 | Oslo | 1\n2026-03-04 | Lima | 2'],
    ['more texts than numbers', 'Name | Type | Note | Size\nid | number | first | 1\ncity | text | last | 5'],
    ['rows of several lengths', 'City | Orders\nOslo | 12\nLima'],
    ['no number', 'City | Orders\nOslo | -\nLima | n/a'],
  ])('is not there for a table with %s', (_, text) => expect(chartOf(table(text))).toBeUndefined());
});
