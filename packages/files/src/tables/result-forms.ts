import { code, count, table } from '../markdown.js';
import type { JsonValue, Result } from './engine.js';

/** Rows of a result that are shown. */
export const SHOWN_ROWS = 100;
/** Columns of a table, and characters of a cell. */
const SHOWN_COLUMNS = 50;
const CELL = 200;
/** Characters of an answer. A message is not a way for large files. */
const ANSWER = 256 * 1024;
const ALL_ROWS = 'With `as csv`, `as json` or `as parquet` at its end, the request gives all as a file.';

/** A result as Markdown. */
export function showTable(result: Result): string {
  const { columns, rows, isCut } = result;
  const shown = rowsThatFit(result);
  const notes = [
    isCut || shown.length < rows.length
      ? `The first ${count(shown.length, 'row')}; there are more. ${ALL_ROWS}`
      : `${count(rows.length, 'row')}.`,
  ];
  if (columns.length > SHOWN_COLUMNS) notes.push(`${count(columns.length - SHOWN_COLUMNS, 'more column')}.`);
  return `${rowsTable(result, shown)}\n\n(${notes.join(' ')})`;
}

/** The rows of a result as a table, as far as they fit into an answer. */
export function rowsTable(result: Result, shown = rowsThatFit(result)): string {
  return table(
    result.columns.slice(0, SHOWN_COLUMNS).map((column) => code(column, 60)),
    shown,
  );
}

function rowsThatFit({ rows }: Result): string[][] {
  const shown: string[][] = [];
  let length = 0;
  for (const row of rows) {
    const cells = row.slice(0, SHOWN_COLUMNS).map((cell) => showCell(cell, CELL));
    length += cells.join().length;
    if (length > ANSWER) break;
    shown.push(cells);
  }
  return shown;
}

/** A value as text. */
export function showValue(value: JsonValue): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** A value in a cell of a Markdown table; empty if it is missing. */
export function showCell(value: JsonValue, length: number): string {
  if (value === null || value === '') return '';
  if (typeof value === 'number') return showNumber(value);
  if (typeof value === 'boolean') return String(value);
  return code(showValue(value), length);
}

/**
 * A number with the digits that say something: all of it, or six significant digits where it has more than eleven, and two
 * decimals from 1000 on. A sum such as `0.30000000000000004` has fewer once it is rounded to fifteen, which a double always keeps.
 */
export function showNumber(value: number): string {
  if (Number.isInteger(value)) return String(value);
  const short = String(Number(value.toPrecision(15)));
  const digits = short.replace(/e.*/, '').replace(/\D/g, '').replace(/^0+/, '').length;
  return digits <= 11 ? short : rounded(value);
}

/** Six significant digits, or two decimals from 1000 on. */
export function rounded(value: number): string {
  return String(Number(Math.abs(value) >= 1000 ? value.toFixed(2) : value.toPrecision(6)));
}
