import { tableName } from './table-names.js';

describe('The name of a table', () => {
  it.each([
    ['orders.csv', undefined, 'orders'],
    ['Orders 2024.csv', undefined, 'orders_2024'],
    ['2024-orders.csv.gz', undefined, 't_2024_orders'],
    ['order.csv', undefined, 't_order'],
    ['Köln.parquet', undefined, 'köln'],
    ['***.csv', undefined, 't_table'],
    ['book.xlsx', 'Notes & more', 'book_notes_more'],
    ['no extension', undefined, 'no_extension'],
  ])('of the file %j with the sheet %j is %j', (file, sheet, name) => {
    expect(tableName(file, sheet, new Set())).toBe(name);
  });

  it('gets a number if it is taken', () => {
    const taken = new Set<string>();
    expect(['a.csv', 'A.tsv', 'a.json'].map((file) => tableName(file, undefined, taken))).toEqual([
      'a',
      'a_2',
      'a_3',
    ]);
  });
});
