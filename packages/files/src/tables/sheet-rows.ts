import { SheetNotes } from '../formats/sheet-notes.js';
import type { TextRow, TextSheet } from '../formats/text-sheet.js';
import type { TextRows } from './rows-source.js';
import { FIRST_ROWS } from './table.js';

/** The rows of a sheet as those of a table. */
export async function* rowsOfTable(sheet: TextSheet, notes: string[]): TextRows {
  const found = new SheetNotes();
  for await (const { cells } of withGaps(sheet.rows(found))) yield cells;
  notes.push(...found.sentences());
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
