import { block, code, count, table } from '../markdown.js';
import type { ResultForm } from '../request.js';
import type { JsonValue, Result } from './engine.js';

/** Rows of a result that are shown in a table, and rows of a file. */
const SHOWN_ROWS = 100;
const FILE_ROWS = 10_000;
/** Columns of a table, and characters of a cell. */
const SHOWN_COLUMNS = 50;
const CELL = 200;
/** Characters of an answer. A message is not a way for large files. */
const ANSWER = 256 * 1024;

/** A file that is the answer to a request. */
export interface ResultFile {
  mimeType: string;
  /** For the fenced block in which a message shows it. */
  language: string;
  content: string;
  /** Rows it has, and whether it would have more. */
  rows: number;
  isCut: boolean;
}

/** The rows that are needed to show a result. */
export function rowsFor(form: ResultForm): number {
  return form === 'table' ? SHOWN_ROWS : FILE_ROWS;
}

/** A result as Markdown. */
export function showTable({ columns, rows, isCut }: Result): string {
  const head = columns.slice(0, SHOWN_COLUMNS).map((column) => code(column, 60));
  const shown: string[][] = [];
  let length = 0;
  for (const row of rows) {
    const cells = row.slice(0, SHOWN_COLUMNS).map((cell) => showCell(cell, CELL));
    length += cells.join().length;
    if (length > ANSWER) break;
    shown.push(cells);
  }
  const notes = [
    isCut || shown.length < rows.length
      ? `The first ${count(shown.length, 'row')}; there are more.`
      : `${count(rows.length, 'row')}.`,
  ];
  if (columns.length > SHOWN_COLUMNS) notes.push(`${count(columns.length - SHOWN_COLUMNS, 'more column')}.`);
  return `${table(head, shown)}\n\n(${notes.join(' ')})`;
}

/** A result as a file. */
export function fileOf(result: Result, form: 'csv' | 'json'): ResultFile {
  const lines = form === 'csv' ? csvLines(result) : jsonLines(result);
  const head = form === 'csv' ? `${csvLine(result.columns)}\n` : '';
  const kept: string[] = [];
  let length = head.length;
  for (const line of lines) {
    length += line.length + 2;
    if (length > ANSWER) break;
    kept.push(line);
  }
  return {
    mimeType: form === 'csv' ? 'text/csv' : 'application/json',
    language: form,
    content: form === 'csv' ? head + kept.map((line) => `${line}\n`).join('') : `[\n${kept.join(',\n')}\n]\n`,
    rows: kept.length,
    isCut: result.isCut || kept.length < result.rows.length,
  };
}

/** A result in its form, as Markdown. */
export function showFile({ content, language, rows, isCut }: ResultFile): string {
  const note = isCut ? `(The first ${count(rows, 'row')}; there are more.)` : `(${count(rows, 'row')}.)`;
  return `${block(content, language)}\n\n${note}`;
}

/** A value as text. */
export function showValue(value: JsonValue): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** A value in a cell of a Markdown table; empty if it is missing. */
export function showCell(value: JsonValue, length: number): string {
  if (value === null || value === '') return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return code(showValue(value), length);
}

function* csvLines({ rows }: Result): Generator<string> {
  for (const row of rows) yield csvLine(row);
}

/** RFC 4180. */
function csvLine(cells: JsonValue[]): string {
  return cells
    .map((cell) => (cell === null ? '' : showValue(cell)))
    .map((cell) => (/[",\n\r]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell))
    .join(',');
}

function* jsonLines({ rows, columns }: Result): Generator<string> {
  for (const row of rows) {
    const members = columns.map((column, index): [string, JsonValue] => [column, row[index]!]);
    yield `  ${JSON.stringify(Object.fromEntries(members))}`;
  }
}
