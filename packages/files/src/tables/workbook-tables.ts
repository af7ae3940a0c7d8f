import { openDocumentSheets } from '../formats/opendocument.js';
import { officeDocumentOf } from '../formats/relationships.js';
import { rowsOfSheet } from '../formats/sheet.js';
import { dateFormats } from '../formats/sheet-dates.js';
import { readSharedStrings, readWorkbook, textOfCell } from '../formats/workbook.js';
import type { TextRow, TextSheet } from '../formats/text-sheet.js';
import type { ZipArchive } from '../formats/zip-archive.js';
import { rowsSource } from './rows-source.js';
import type { TextRows } from './rows-source.js';
import type { TableSource } from './table-source.js';
import { FIRST_ROWS } from './table.js';

/** Sheets that are tables, at most. */
const MAX_SHEETS = 30;

/** The sheets of an Excel workbook or an OpenDocument spreadsheet; undefined if the archive is neither. */
export async function sheetsOf(zip: ZipArchive): Promise<TextSheet[] | undefined> {
  const office = await officeDocumentOf(zip);
  if (office?.kind === 'Excel workbook') return excelSheets(zip, office.main);
  return office ? undefined : openDocumentSheets(zip, MAX_SHEETS);
}

/** The sheets of a workbook as tables; none if the archive is no workbook. */
export async function workbookTables(zip: ZipArchive): Promise<TableSource[]> {
  const sheets = (await sheetsOf(zip)) ?? [];
  return sheets.map(({ name, rows }) => rowsSource(name, () => cellsOf(rows())));
}

async function excelSheets(zip: ZipArchive, main: string): Promise<TextSheet[]> {
  const { sheets, from1904 } = await readWorkbook(zip, main);
  let shared: Promise<[Map<number, string>, Set<number>]> | undefined;
  return sheets.slice(0, MAX_SHEETS).map(({ name, entry }) => ({
    name,
    async *rows() {
      if (entry === undefined) return;
      shared ??= Promise.all([readSharedStrings(zip, main), dateFormats(zip, main)]);
      const [strings, dates] = await shared;
      for await (const { number, cells } of rowsOfSheet(zip.read(entry))) {
        yield { number, cells: Array.from(cells, (cell) => textOfCell(cell, strings, dates, from1904)) };
      }
    },
  }));
}

/** The cells of rows. A sheet has no rows without cells; above a row with more cells than all before it, they separate it from a title. */
async function* cellsOf(rows: AsyncIterable<TextRow>): TextRows {
  let last = 0;
  let most = 0;
  for await (const { number, cells } of rows) {
    const filled = cells.filter((cell) => cell !== null).length;
    if (most > 0 && filled > most) for (; last + 1 < Math.min(number, FIRST_ROWS); last += 1) yield [];
    yield cells;
    last = number;
    most = Math.max(most, filled);
  }
}
