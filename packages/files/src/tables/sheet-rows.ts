import { FILLED, NOT_FILLED, SheetNotes } from '../formats/sheet-notes.js';
import type { SheetArea, TextRow, TextSheet } from '../formats/text-sheet.js';
import { code, count } from '../markdown.js';
import { SAMPLE } from './delimited-text.js';
import type { TextRows } from './rows-source.js';
import { FIRST_ROWS } from './table.js';

const HIDDEN_SHEET = 'This sheet is hidden.';

/**
 * The rows of a sheet without the columns in which no cell has a value: one cell far away would make hundreds of them. A
 * column whose first value is not among the first rows is the last one.
 */
export async function* withoutEmptyColumns(sheet: TextSheet, notes: string[]): TextRows {
  const found = new SheetNotes();
  const places = new Map<number, number>();
  let ahead: TextRow[] = [];
  let length = 0;
  let width = 0;
  for await (const row of withGaps(rowsOf(sheet, found))) {
    ahead.push(row);
    width = Math.max(width, row.cells.length);
    length += row.cells.reduce((sum, cell) => sum + (cell?.length ?? 0) + 1, 0);
    if (length < SAMPLE) continue;
    yield* placed(ahead, places);
    ahead = [];
    length = 0;
  }
  yield* placed(ahead, places);
  if (sheet.isHidden) notes.push(HIDDEN_SHEET);
  const empty = width - places.size;
  if (empty > 0) notes.push(`${count(empty, 'column')} without a value left out.`);
  notes.push(...found.sentences());
}

function* placed(rows: TextRow[], places: Map<number, number>): Generator<(string | null)[]> {
  const used = new Set<number>();
  for (const { cells } of rows) cells.forEach((cell, column) => cell !== null && used.add(column));
  for (const column of [...used].sort((a, b) => a - b)) {
    if (!places.has(column)) places.set(column, places.size);
  }
  for (const { cells } of rows) {
    const row = new Array<string | null>(places.size).fill(null);
    for (const [column, place] of places) row[place] = cells[column] ?? null;
    yield row;
  }
}

/** The rows of a table that somebody made of an area of a sheet, without its names and its totals. */
export async function* rowsOfArea(sheet: TextSheet, area: SheetArea, notes: string[]): TextRows {
  const found = new SheetNotes();
  let outside = 0;
  for await (const { number, cells } of rowsOf(sheet, found)) {
    const isOutside = (column: number) => !sheet.tables.some((table) => covers(table, number, column));
    if (cells.some((cell, index) => cell !== null && isOutside(index + 1))) outside += 1;
    if (number < area.data[0] || number > area.data[1]) continue;
    yield cells.slice(area.columns[0] - 1, area.columns[1]);
  }
  if (sheet.isHidden) notes.push(HIDDEN_SHEET);
  const totals = area.hasTotals ? ' without its totals row' : '';
  notes.push(`The Excel table ${code(area.name, 60)} (${area.reference})${totals}.`);
  if (outside > 0) {
    const rows = `${count(outside, 'row')} ${outside === 1 ? 'has' : 'have'}`;
    notes.push(`${rows} cells outside of ${sheet.tables.length === 1 ? 'it' : 'the tables'}, left out.`);
  }
  notes.push(...found.sentences());
}

function covers({ rows, columns }: SheetArea, row: number, column: number): boolean {
  return row >= rows[0] && row <= rows[1] && column >= columns[0] && column <= columns[1];
}

/**
 * The rows of a sheet with the value of a merged cell in all of its rows, as a person sees it. A number stays in the first one:
 * a sum would count it several times.
 */
async function* rowsOf(sheet: TextSheet, notes: SheetNotes): AsyncGenerator<TextRow> {
  const open = new Map<number, { lastRow: number; value: string }>();
  for await (const row of sheet.rows(notes)) {
    const { number, cells, merged = [] } = row;
    if (open.size + merged.length === 0) {
      yield row;
      continue;
    }
    const values = [...cells];
    for (const [column, { lastRow, value }] of open) {
      if (lastRow < number) open.delete(column);
      if (lastRow < number || (values[column] ?? null) !== null) continue;
      values[column] = value;
      notes.add(FILLED);
    }
    for (const { column, lastRow, isNumber } of merged) {
      const value = values[column] ?? null;
      if (value !== null && isNumber) notes.add(NOT_FILLED);
      else if (value !== null) open.set(column, { lastRow, value });
    }
    yield { number, cells: Array.from(values, (value) => value ?? null) };
  }
}

/** The rows with those that separate a title from a row with more cells than all before it: a sheet has no rows without cells. */
async function* withGaps(rows: AsyncIterable<TextRow>): AsyncGenerator<TextRow> {
  let last = 0;
  let most = 0;
  for await (const row of rows) {
    const filled = row.cells.filter((cell) => cell !== null).length;
    if (most > 0 && filled > most)
      for (; last + 1 < Math.min(row.number, FIRST_ROWS); last += 1) yield { number: last + 1, cells: [] };
    yield row;
    last = row.number;
    most = Math.max(most, filled);
  }
}
