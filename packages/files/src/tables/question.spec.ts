import { suggestedFor } from './suggest-statements.js';
import type { Column } from './table.js';

const COLUMNS: Column[] = [
  { name: 'id', type: 'integer' },
  { name: 'date', type: 'date' },
  { name: 'customer', type: 'text' },
  { name: 'city', type: 'text' },
  { name: 'product', type: 'text' },
  { name: 'amount', type: 'number' },
  { name: 'units', type: 'integer' },
  { name: 'paid', type: 'boolean' },
];
const VALUES: Record<string, string[]> = {
  customer: ['customer 1', 'customer 17', "Conan O'Brien"],
  city: ['Oslo', 'Bergen', 'Tromsø'],
  product: ['lamp', 'desk'],
  paid: ['true', 'false'],
};

/** The first statement that is suggested for a question about the table `sales`. */
async function first(question: string, columns = COLUMNS, name = 'sales'): Promise<string | undefined> {
  const { about } = await suggestedFor(
    question,
    name,
    columns,
    async (index) => VALUES[columns[index]!.name],
  );
  return about[0]?.text;
}

const BY_CITY =
  'select city, sum(amount) as total, count(*) as n from sales group by city order by total desc';
const COUNT_BY_CITY = 'select city, count(*) as n from sales group by city order by n desc';

describe('The statement for a question about a table', () => {
  it.each([
    ['how much did each city sell in total?', BY_CITY],
    ['What is the total amount by city?', BY_CITY],
    ['amount per citty', BY_CITY],
    ['Wie viel Umsatz pro Stadt?', BY_CITY],
    ['combien par ville ?', BY_CITY],
    ['how many rows are there per city?', COUNT_BY_CITY],
    ['which cities are there?', COUNT_BY_CITY],
    ['how many rows per ctiy', COUNT_BY_CITY],
    [
      'which product sold the most units?',
      'select product, sum(units) as total, count(*) as n from sales group by product order by total desc',
    ],
    [
      'which product sold the fewest units?',
      'select product, sum(units) as total, count(*) as n from sales group by product order by total',
    ],
    [
      'average amount per month in Tromso',
      "select strftime(date, '%Y-%m') as month, avg(amount) as mean, count(*) as n from sales where city = 'Tromsø' " +
        'group by 1 order by 1',
    ],
    [
      'which city has the biggest amount?',
      'select city, max(amount) as largest, count(*) as n from sales group by city order by largest desc',
    ],
    [
      'kleinster Betrag je Stadt',
      'select city, min(amount) as smallest, count(*) as n from sales group by city order by smallest',
    ],
    ['which city has the highest total amount?', BY_CITY],
    ['which city has the most amount?', BY_CITY],
    ['average amount in Bergen', "select avg(amount) as mean from sales where city = 'Bergen'"],
    ['orders of Oslo', "select * from sales where city = 'Oslo'"],
    ['Oslo and Bergen', "select * from sales where city in ('Oslo', 'Bergen')"],
    ["what did Conan O'Brien buy?", "select * from sales where customer = 'Conan O''Brien'"],
    [
      'orders over 1,400 of customer 17 in March 2026',
      "select * from sales where customer = 'customer 17' and amount > 1400 and month(date) = 3 and year(date) = 2026",
    ],
    [
      'how many customers per city?',
      'select city, count(distinct customer) as n from sales group by city order by n desc',
    ],
    ['how many different customers?', 'select count(distinct customer) as n from sales'],
    ['what is the biggest amount?', 'select * from sales order by amount desc limit 5'],
    ['the latest sales of lamps', "select sum(amount) as total from sales where product = 'lamp'"],
    ['the latest orders', 'select * from sales order by date desc limit 5'],
    ['how many rows?', 'select count(*) as n from sales'],
    ['how many orders are paid?', 'select paid, count(*) as n from sales group by paid order by n desc'],
  ])('%j is %s', async (question, statement) => {
    expect(await first(question)).toBe(statement);
  });

  it.each(['hello', 'what can you do?', 'unicorns', 'thank you very much'])(
    'is none for %j',
    async (question) => {
      expect(await first(question)).toBeUndefined();
    },
  );

  it('has a chart beside it, without the number of rows', async () => {
    const { about } = await suggestedFor('total per city', 'sales', COLUMNS, async () => undefined);
    expect(about[1]).toEqual({
      text: 'select city, sum(amount) as total from sales group by city order by total desc as chart',
      label: 'Chart: Sum of amount by city',
    });
  });

  it('takes no word for a column whose first letter differs', async () => {
    const columns: Column[] = [
      { name: 'city', type: 'text' },
      { name: 'name', type: 'text' },
      { name: 'amount', type: 'number' },
    ];
    expect(await first('the same amount per city', columns)).toBe(BY_CITY);
  });

  it('takes a part of a long name, and the words of camel case', async () => {
    const columns: Column[] = [
      { name: 'Sales Region', type: 'text' },
      { name: 'unitPrice', type: 'number' },
    ];
    expect(await first('mean unit price by region', columns, 't')).toBe(
      'select "Sales Region", avg(unitPrice) as mean, count(*) as n from t group by "Sales Region" order by mean desc',
    );
  });

  it('looks at no value where the columns have all words of the question', async () => {
    let looks = 0;
    await suggestedFor('total amount per city', 'sales', COLUMNS, async () => {
      looks += 1;
      return undefined;
    });
    expect(looks).toBe(0);
  });
});
