import { parseRequest } from './request.js';

describe('A request', () => {
  it.each([
    ['select 1', { kind: 'sql', statement: 'select 1', as: 'table' }],
    [' SELECT city\nFROM orders ; ', { kind: 'sql', statement: 'SELECT city\nFROM orders', as: 'table' }],
    ['select 1 as csv', { kind: 'sql', statement: 'select 1', as: 'csv' }],
    ['select 1 as n; as JSON;', { kind: 'sql', statement: 'select 1 as n', as: 'json' }],
    ['select 1 ; ; as csv ; ', { kind: 'sql', statement: 'select 1', as: 'csv' }],
    ['orders as chart', { kind: 'sql', statement: 'select * from "orders"', as: 'chart' }],
    ['select 1 as n as CHART;', { kind: 'sql', statement: 'select 1 as n', as: 'chart' }],
    ['select 1 as parquet', { kind: 'sql', statement: 'select 1', as: 'parquet' }],
    ['with a as (select 1) from a', { kind: 'sql', statement: 'with a as (select 1) from a', as: 'table' }],
    ['show tables', { kind: 'sql', statement: 'show tables', as: 'table' }],
    ['describe orders', { kind: 'sql', statement: 'describe orders', as: 'table' }],
    ['summarize "my table"', { kind: 'sql', statement: 'summarize "my table"', as: 'table' }],
    ['find "annual report"', { kind: 'find', words: 'annual report' }],
    ['Find “annual report”', { kind: 'find', words: 'annual report' }],
    ['find engine', { kind: 'find', words: 'engine' }],
    ['page 3', { kind: 'pages', first: 3, last: 3 }],
    ['Pages 2-4', { kind: 'pages', first: 2, last: 4 }],
    ['page 1 of my report.pdf', { kind: 'pages', first: 1, last: 1, of: 'my report.pdf' }],
    ['sheet Notes', { kind: 'sheet', name: 'Notes' }],
    ['sheet Terms of payment', { kind: 'sheet', name: 'Terms of payment' }],
    ['sheet Terms of payment of a.xlsx', { kind: 'sheet', name: 'Terms of payment', of: 'a.xlsx' }],
    ['sheet "Notes" of a.xlsx', { kind: 'sheet', name: 'Notes', of: 'a.xlsx' }],
    ['entry docs/a.txt', { kind: 'entry', path: 'docs/a.txt' }],
    ['entry docs/a.txt of b.zip', { kind: 'entry', path: 'docs/a.txt', of: 'b.zip' }],
    ['orders as parquet', { kind: 'sql', statement: 'select * from "orders"', as: 'parquet' }],
    ['Export "a b" as CSV;', { kind: 'sql', statement: 'select * from "a b"', as: 'csv' }],
    ['describe', { kind: 'describe' }],
    ['describe of a.csv', { kind: 'describe', of: 'a.csv' }],
    ...[
      'delete from orders',
      'DELETE FROM orders WHERE id = 1;',
      'update orders set paid = true',
      'insert into orders values (1)',
      'drop table if exists orders',
      'alter table orders add column a int',
      'create or replace table a as select 1',
      'truncate orders',
      "copy orders to '/tmp/a'",
    ].map((text): [string, object] => [text, { kind: 'writing' }]),
    ['encoding Windows-1251', { kind: 'describe', encoding: 'windows-1251' }],
    ['encoding sjis of a.csv', { kind: 'describe', encoding: 'shift_jis', of: 'a.csv' }],
    ['outline', { kind: 'outline' }],
    ['text of report.pdf', { kind: 'text', of: 'report.pdf' }],
  ])('is read from %j', (text, request) => {
    expect(parseRequest(text)).toEqual(request);
  });

  it.each([
    '',
    'Hello',
    'What is in these files?',
    'find',
    'find out what is in it',
    'find ""',
    'Describe this',
    'describe the files',
    'Summarize report.pdf',
    'with all my heart',
    'With the files as a base (see there), write a summary',
    'page three',
    'page',
    'sheet',
    'text me',
    'outlines',
    'Delete from my list what is old',
    'Update the numbers please',
    'Insert into the text a heading',
    'Create a table of orders',
    'this as csv',
    'describe it',
    'sold as parquet floor',
  ])('is not taken from %j', (text) => {
    expect(parseRequest(text)).toBeUndefined();
  });

  it('is not taken from a very long text', () => {
    expect(parseRequest(`select ${'x'.repeat(20_000)}`) === undefined).toBe(true);
  });
});
