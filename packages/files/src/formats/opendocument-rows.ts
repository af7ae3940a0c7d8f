import { cellsOf, SheetListener } from './opendocument-cells.js';
import type { RepeatedRow } from './opendocument-cells.js';
import { paced } from './paced.js';
import { HIDDEN } from './sheet-notes.js';
import type { SheetNotes } from './sheet-notes.js';
import type { TextRow } from './text-sheet.js';
import { readXml } from './xml.js';
import type { ZipArchive } from './zip-archive.js';

/** Characters of a cell, rows and columns that are read: as many as the common programs allow. */
const KEPT = 32_767;
const LAST_ROW = 1_048_576;
const LAST_COLUMN = 16_384;

/** The names of the sheets of an OpenDocument spreadsheet. */
export async function sheetNames(
  zip: ZipArchive,
  entry: string,
  most: number,
): Promise<{ name: string; isHidden: boolean }[]> {
  const names: { name: string; isHidden: boolean }[] = [];
  const listener = new SheetListener(
    {
      sheet: (name, isHidden) => names.push({ name, isHidden }),
      row: () => undefined,
      isEnough: () => names.length >= most,
    },
    0,
  );
  await readXml(zip.read(entry), listener);
  return names.slice(0, most);
}

/**
 * Reads a sheet row by row, no faster than the rows are taken.
 *
 * @param index of the sheet, from 0
 * @param notes if given, the cells are read as values of a table
 */
export async function* rowsOfOpenSheet(
  zip: ZipArchive,
  entry: string,
  index: number,
  notes?: SheetNotes,
): AsyncGenerator<TextRow> {
  const ready: RepeatedRow[] = [];
  let current = -1;
  const listener = new SheetListener(
    {
      sheet: () => (current += 1),
      row: (row) => {
        if (current === index) ready.push(row);
      },
      isEnough: () => current > index,
    },
    KEPT,
  );
  const rows = paced(
    zip.read(entry),
    (chunks) => readXml(chunks, listener),
    () => ready.splice(0),
  );
  for await (const row of rows) yield* repeated(row, zip, notes);
}

/** A few bytes may stand for millions of cells. They count as if they were in the archive. */
function* repeated(row: RepeatedRow, zip: ZipArchive, notes: SheetNotes | undefined): Generator<TextRow> {
  const cells = cellsOf(row, LAST_COLUMN, null);
  const length = cells.reduce((sum, cell) => sum + (cell?.length ?? 0) + 1, 0);
  for (const { column, repeats, flaw, isHidden } of notes ? row.cells : []) {
    if (isHidden) notes!.add(HIDDEN, repeats * row.repeats);
    if (flaw === undefined) continue;
    notes!.add(flaw, repeats * row.repeats);
    cells.fill(null, column, column + repeats);
  }
  const end = Math.min(row.number + row.repeats - 1, LAST_ROW);
  for (let number = row.number; number <= end; number += 1) {
    zip.count(number === row.number ? 0 : length);
    const merged = row.cells.filter(({ rows }) => rows > 1);
    yield { number, cells, merged: merged.map((cell) => ({ ...cell, lastRow: number + cell.rows - 1 })) };
  }
}
