import { openDocumentSheets } from '../formats/opendocument.js';
import { officeDocumentOf } from '../formats/relationships.js';
import { rowsOfSheet } from '../formats/sheet.js';
import type { SheetCell } from '../formats/sheet.js';
import { mergedCells, tablesOfSheet } from '../formats/sheet-areas.js';
import { numberFormats } from '../formats/sheet-dates.js';
import { readSharedStrings, readWorkbook, textOfCell } from '../formats/workbook.js';
import type { CellValues, Sheet } from '../formats/workbook.js';
import type { TextRow, TextSheet } from '../formats/text-sheet.js';
import type { ZipArchive } from '../formats/zip-archive.js';
import { rowsSource } from './rows-source.js';
import { rowsOfArea, withoutEmptyColumns } from './sheet-rows.js';
import type { TableSource } from './table-source.js';

/** Sheets that are tables, at most. */
const MAX_SHEETS = 30;

/** The sheets of an Excel workbook or an OpenDocument spreadsheet; undefined if the archive is neither. */
export async function sheetsOf(zip: ZipArchive): Promise<TextSheet[] | undefined> {
  const office = await officeDocumentOf(zip);
  if (office?.kind === 'Excel workbook') return excelSheets(zip, office.main);
  return office ? undefined : openDocumentSheets(zip, MAX_SHEETS);
}

/** The sheets of a workbook as tables, and the tables of those that have some; none if the archive is no workbook. */
export async function workbookTables(zip: ZipArchive): Promise<TableSource[]> {
  return ((await sheetsOf(zip)) ?? []).flatMap((sheet) => {
    const { name, tables, fault } = sheet;
    if (tables.length === 0) {
      const source = rowsSource(name, (notes) => withoutEmptyColumns(sheet, notes));
      return fault === undefined ? source : { ...source, fault };
    }
    return tables.map((area) => {
      const title = tables.length === 1 ? name : area.name;
      return rowsSource(title, (notes) => rowsOfArea(sheet, area, notes), area.names);
    });
  });
}

async function excelSheets(zip: ZipArchive, main: string): Promise<TextSheet[]> {
  const { sheets, from1904 } = await readWorkbook(zip, main);
  let shared: Promise<CellValues> | undefined;
  const values = () => (shared ??= valuesOf(zip, main, from1904));
  const found: TextSheet[] = [];
  for (const sheet of sheets.slice(0, MAX_SHEETS)) found.push(await excelSheet(zip, sheet, values));
  return found;
}

async function valuesOf(zip: ZipArchive, main: string, from1904: boolean): Promise<CellValues> {
  return { strings: await readSharedStrings(zip, main), formats: await numberFormats(zip, main), from1904 };
}

async function excelSheet(
  zip: ZipArchive,
  { name, entry, hidden: isHidden }: Sheet,
  values: () => Promise<CellValues>,
): Promise<TextSheet> {
  if (entry === undefined) {
    return {
      name,
      isHidden,
      tables: [],
      fault: 'cannot be read: its part is missing in the file',
      rows: noRows,
    };
  }
  return {
    name,
    isHidden,
    tables: await tablesOfSheet(zip, entry),
    async *rows(notes) {
      const known = await values();
      const merged = notes && (await mergedCells(zip.read(entry)));
      const isNumber = (cell: SheetCell | undefined) =>
        cell?.type === 'n' && (known.formats.get(cell.style) ?? 'duration') === 'duration';
      for await (const { number, cells } of rowsOfSheet(zip.read(entry))) {
        yield {
          number,
          cells: Array.from(cells, (cell) => textOfCell(cell, known, notes)),
          merged: (merged?.get(number) ?? []).map((each) => ({
            ...each,
            isNumber: isNumber(cells[each.column]),
          })),
        };
      }
    },
  };
}

async function* noRows(): AsyncGenerator<TextRow> {}
