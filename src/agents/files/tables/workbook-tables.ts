import { rowsOfSheet } from '../formats/sheet.js';
import { dateFormats } from '../formats/sheet-dates.js';
import { readSharedStrings, readWorkbook, textOfCell } from '../formats/workbook.js';
import type { ZipArchive } from '../formats/zip-archive.js';
import { rowsSource } from './rows-source.js';
import type { TextRows } from './rows-source.js';
import type { TableSource } from './table-source.js';

/** Sheets that are tables, at most. */
const MAX_SHEETS = 30;

/** A row of a sheet as texts. */
export interface TextRow {
  /** From 1. */
  number: number;
  cells: (string | null)[];
}

/** The sheets of an Excel workbook, which can be read row by row. */
export async function sheetsOf(
  zip: ZipArchive,
): Promise<{ name: string; rows: () => AsyncGenerator<TextRow> }[]> {
  const { sheets, from1904 } = await readWorkbook(zip);
  let shared: Promise<[Map<number, string>, Set<number>]> | undefined;
  return sheets.slice(0, MAX_SHEETS).map(({ name, entry }) => ({
    name,
    async *rows() {
      if (entry === undefined) return;
      shared ??= Promise.all([readSharedStrings(zip), dateFormats(zip)]);
      const [strings, dates] = await shared;
      for await (const { number, cells } of rowsOfSheet(zip.read(entry))) {
        yield { number, cells: Array.from(cells, (cell) => textOfCell(cell, strings, dates, from1904)) };
      }
    },
  }));
}

/** The sheets of an Excel workbook as tables. */
export async function workbookTables(zip: ZipArchive): Promise<TableSource[]> {
  return (await sheetsOf(zip)).map(({ name, rows }) => rowsSource(name, () => cellsOf(rows())));
}

async function* cellsOf(rows: AsyncIterable<TextRow>): TextRows {
  for await (const { cells } of rows) yield cells;
}
