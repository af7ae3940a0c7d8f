import { code, count, table as markdownTable } from '../markdown.js';
import { identifier } from './engine.js';
import type { JsonValue, TableEngine } from './engine.js';
import type { Column, Table } from './import-table.js';
import { showCell, showValue } from './result-forms.js';

/** Columns and rows that are shown, at most. */
const SHOWN_COLUMNS = 30;
const SAMPLE_COLUMNS = 8;
const SAMPLE_ROWS = 5;
/** Frequent values that are shown. */
const FREQUENT = 3;
/** Rows above which different values are estimated: to count them all takes memory. */
const EXACT = 100_000;
/** Different values up to which those of a large table are counted after all. */
const COUNTED = 10_000;

const HEADING = ['column', 'type', 'missing', 'distinct', 'min', 'max', 'mean', 'most frequent'];

/** How many rows and columns a table has. */
export function sizeOf({ rows, columns }: Table): string {
  return `${count(rows, 'row')} of ${count(columns.length, 'column')}`;
}

/** The first rows of a table. */
export async function sampleOf(engine: TableEngine, { name, columns, rows }: Table): Promise<string> {
  const shown = columns.slice(0, SAMPLE_COLUMNS);
  const names = shown.map((column) => identifier(column.name));
  const { rows: first } = await engine.select(
    `select ${names.join(', ')} from ${identifier(name)}`,
    SAMPLE_ROWS,
  );
  const head = shown.map((column) => code(column.name, 40));
  const body = first.map((row) => row.map((cell) => showCell(cell, 40)));
  const more = [
    rows > SAMPLE_ROWS && count(rows - SAMPLE_ROWS, 'more row'),
    columns.length > SAMPLE_COLUMNS && count(columns.length - SAMPLE_COLUMNS, 'more column'),
  ].filter(Boolean);
  return `${markdownTable(head, body)}${more.length > 0 ? `\n\n(${more.join(', ')}.)` : ''}`;
}

/** The columns of a table: type, missing, distinct, minimum, maximum, and mean or most frequent values. */
export async function profileOf(engine: TableEngine, table: Table): Promise<string> {
  const shown = table.columns.slice(0, SHOWN_COLUMNS);
  const figures = await figuresOf(engine, table, shown);
  const rows: string[][] = [];
  for (const [index, column] of shown.entries()) {
    rows.push(await profileRow(engine, table, column, figures.slice(index * 5, index * 5 + 5)));
  }
  const rest = table.columns.length - shown.length;
  return `${markdownTable(HEADING, rows)}${rest > 0 ? `\n\n(${count(rest, 'more column')}.)` : ''}`;
}

function figuresOf(engine: TableEngine, { name, rows }: Table, columns: Column[]): Promise<JsonValue[]> {
  const distinct = (column: string) =>
    rows > EXACT ? `approx_count_distinct(${column})` : `count(distinct ${column})`;
  const figures = columns.flatMap((column) => {
    const value = identifier(column.name);
    const isOrdered = isNumber(column) || isTime(column);
    return [
      `count(*) - count(${value})`,
      isNested(column) ? 'null' : distinct(value),
      isOrdered ? `min(${value})` : 'null',
      isOrdered ? `max(${value})` : 'null',
      isNumber(column) ? `avg(${value})` : 'null',
    ];
  });
  return engine.row(`select ${figures.join(', ')} from ${identifier(name)}`);
}

async function profileRow(
  engine: TableEngine,
  table: Table,
  column: Column,
  [missing = 0, estimate = null, min = null, max = null, mean = null]: JsonValue[],
): Promise<string[]> {
  const present = table.rows - Number(missing);
  const distinct = estimate === null ? undefined : await distinctOf(engine, table, column, Number(estimate));
  const repeats = distinct !== undefined && distinct.count < present;
  const isNamed = !isNumber(column) && !isTime(column);
  return [
    code(column.name, 40),
    column.type,
    Number(missing).toLocaleString('en-US'),
    distinct ? `${distinct.isExact ? '' : 'about '}${distinct.count.toLocaleString('en-US')}` : '',
    min === null ? '' : code(showValue(min), 30),
    max === null ? '' : code(showValue(max), 30),
    mean === null ? '' : meanOf(Number(mean)),
    repeats && isNamed ? await frequentOf(engine, table, column) : '',
  ];
}

/** Different values of a column. In a large table few are counted, and many are estimated. */
async function distinctOf(
  engine: TableEngine,
  { name, rows }: Table,
  column: Column,
  estimate: number,
): Promise<{ count: number; isExact: boolean }> {
  if (rows <= EXACT) return { count: estimate, isExact: true };
  if (estimate > COUNTED) return { count: Math.min(estimate, rows), isExact: false };
  const [count] = await engine.row(
    `select count(distinct ${identifier(column.name)}) from ${identifier(name)}`,
  );
  return { count: Number(count), isExact: true };
}

async function frequentOf(engine: TableEngine, { name }: Table, column: Column): Promise<string> {
  const value = identifier(column.name);
  const { rows } = await engine.select(
    `select ${value}, count(*) from ${identifier(name)} where ${value} is not null ` +
      `group by all order by 2 desc, 1 limit ${FREQUENT}`,
    FREQUENT,
  );
  return rows
    .map(([cell, times]) => `${showCell(cell!, 20)} (${Number(times).toLocaleString('en-US')})`)
    .join(', ');
}

/** Six significant digits, or two decimals from 1000 on. */
function meanOf(mean: number): string {
  const digits = Math.abs(mean) >= 1000 ? { maximumFractionDigits: 2 } : { maximumSignificantDigits: 6 };
  return mean.toLocaleString('en-US', { ...digits, useGrouping: false });
}

function isNumber({ type }: Column): boolean {
  return type === 'integer' || type.startsWith('number');
}

function isTime({ type }: Column): boolean {
  return type.startsWith('date') || type === 'time';
}

function isNested({ type }: Column): boolean {
  return type === 'list' || type === 'object';
}
