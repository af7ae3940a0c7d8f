import { code, count, moreOf, table as markdownTable } from '../markdown.js';
import { rounded, showCell, showNumber, showValue } from './result-forms.js';
import type { JsonValue, Result } from './engine.js';
import type { Column, ColumnFigures, Table } from './table.js';

/** Columns and rows that are shown, at most. */
const SHOWN_COLUMNS = 30;
const SAMPLE_COLUMNS = 8;
const SAMPLE_ROWS = 5;

const HEADING = ['column', 'type', 'missing', 'distinct', 'min', 'max', 'mean', 'most frequent'];

/** How many rows and columns a table has. */
export function sizeOf({ rows, columns }: Table): string {
  return `${count(rows, 'row')} of ${count(columns.length, 'column')}`;
}

/** The first rows of a table. */
export async function sampleOf(table: Table): Promise<string> {
  const { columns, rows } = table;
  const head = columns.slice(0, SAMPLE_COLUMNS).map((column) => code(column.name, 40));
  const body = (await table.first(SAMPLE_ROWS, SAMPLE_COLUMNS)).map((row) =>
    row.map((cell) => showCell(cell, 40)),
  );
  const more = moreOf([rows - SAMPLE_ROWS, 'row'], [columns.length - SAMPLE_COLUMNS, 'column']);
  return `${markdownTable(head, body)}${more}`;
}

/** The columns of a table: type, missing, distinct, minimum, maximum, and mean or most frequent values. */
export async function profileOf(table: Table): Promise<string> {
  const figures = await table.figures(SHOWN_COLUMNS);
  const rows = figures.map((each, index) => profileRow(table.columns[index]!, each));
  return `${markdownTable(HEADING, rows)}${moreOf([table.columns.length - figures.length, 'column'])}`;
}

/** The same as a result, for a file. */
export async function profileRows(table: Table): Promise<Result> {
  const figures = await table.figures(table.columns.length);
  const rows = figures.map(({ missing, distinct, min, max, mean, frequent }, index): JsonValue[] => {
    const { name, type } = table.columns[index]!;
    const often = frequent.map(([value, times]) => `${showValue(value)} (${times})`).join(', ');
    const texts = [min, max].map((value) => (value === null ? null : showValue(value)));
    return [name, type, missing, distinct?.count ?? null, ...texts, mean, often];
  });
  return { columns: HEADING, rows, isCut: false };
}

function profileRow(
  { name, type }: Column,
  { missing, distinct, min, max, mean, frequent }: ColumnFigures,
): string[] {
  return [
    code(name, 40),
    type,
    missing.toLocaleString('en-US'),
    distinct ? `${distinct.isExact ? '' : 'about '}${distinct.count.toLocaleString('en-US')}` : '',
    extremeOf(min),
    extremeOf(max),
    mean === null ? '' : rounded(mean),
    frequent.map(([value, times]) => `${showCell(value, 20)} (${times.toLocaleString('en-US')})`).join(', '),
  ];
}

function extremeOf(value: JsonValue): string {
  if (value === null) return '';
  return code(typeof value === 'number' ? showNumber(value) : showValue(value), 30);
}
