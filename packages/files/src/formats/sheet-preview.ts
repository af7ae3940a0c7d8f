import { moreOf, table } from '../markdown.js';

/** Rows and columns of a sheet that are shown. */
export const SHOWN_ROWS = 6;
export const SHOWN_COLUMNS = 8;

/**
 * The first rows of a sheet, whose first is the head of the table; empty if there are none.
 *
 * @param rows cells in Markdown
 * @param extent of the sheet, if it is known
 */
export function previewOf(rows: string[][], extent?: { rows: number; columns: number }): string {
  if (rows.length === 0) return '';
  const width = Math.max(...rows.map(({ length }) => length));
  const [head, ...others] = rows.map((row) => Array.from({ length: width }, (_, index) => row[index] ?? ''));
  const more = extent ? moreOf([extent.rows - SHOWN_ROWS, 'row'], [extent.columns - width, 'column']) : '';
  return `\n\n${table(head!, others)}${more}`;
}
