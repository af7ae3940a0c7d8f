import { code, count, moreOf } from '../markdown.js';
import { untilStopped } from '../reading-stopped.js';
import type { Findings } from './findings.js';
import { cellsOf, SheetListener, widthOf } from './opendocument-cells.js';
import type { RepeatedRow, SheetEvents } from './opendocument-cells.js';
import { previewOf, SHOWN_COLUMNS, SHOWN_ROWS } from './sheet-preview.js';
import { readXml } from './xml.js';
import type { ZipArchive } from './zip-archive.js';

const SHOWN_SHEETS = 5;
const MEASURED_SHEETS = 30;
/** Characters of a cell that are kept. */
const KEPT = 200;
/** Bytes above which a spreadsheet takes so long that its first rows are shown before the extent of its sheets. */
const LARGE = 4 * 1024 * 1024;

interface Sheet {
  /** In Markdown, with what is special about it. */
  name: string;
  /** Numbers of the last row and column that have a value. */
  rows: number;
  columns: number;
  first: string[][];
}

/** Describes the sheets of an OpenDocument spreadsheet: their extent and first rows. */
export async function* describeSheets(zip: ZipArchive, entry: string): Findings {
  const isLarge = zip.sizeOf(entry) > LARGE;
  if (isLarge) {
    const first = new SheetReader(true);
    await readXml(zip.read(entry), new SheetListener(first, KEPT));
    for (const { name, first: rows } of first.sheets) yield `\n\nSheet ${name} begins:${previewOf(rows)}`;
  }
  const reader = new SheetReader(false);
  const stopped = await untilStopped(() => readXml(zip.read(entry), new SheetListener(reader, KEPT)));
  const { sheets, found } = reader;
  yield `${isLarge ? '\n\n' : ''}${stopped ? 'At least ' : ''}${count(found, 'sheet')}.`;
  for (const [index, { name, rows, columns, first }] of sheets.entries()) {
    // Where reading stopped, only the extent of the last sheet is not known to its end.
    const atLeast = stopped && index === sheets.length - 1 ? 'at least ' : '';
    const extent = `${atLeast}${count(rows, 'row')} × ${count(columns, 'column')}.`;
    yield `\n\nSheet ${name}: ${extent}${isLarge ? '' : previewOf(first, { rows, columns })}`;
  }
  yield moreOf([found - sheets.length, 'sheet']);
  if (stopped) throw stopped;
}

/** What the sheets of a spreadsheet have in them. */
class SheetReader implements SheetEvents {
  readonly sheets: Sheet[] = [];
  found = 0;
  #sheet: Sheet | undefined;

  /** @param isPreview whether only the first rows of the first sheet are of interest */
  constructor(private readonly isPreview: boolean) {}

  isEnough(): boolean {
    return this.isPreview && (this.found > 1 || (this.#sheet?.rows ?? 0) > SHOWN_ROWS);
  }

  sheet(title: string, isHidden: boolean): void {
    this.found += 1;
    this.#sheet = undefined;
    if (this.found > (this.isPreview ? 1 : MEASURED_SHEETS)) return;
    const name = `${code(title, 40)}${isHidden ? ' (hidden)' : ''}`;
    this.#sheet = { name, rows: 0, columns: 0, first: [] };
    this.sheets.push(this.#sheet);
  }

  row(row: RepeatedRow): void {
    if (!this.#sheet) return;
    this.#sheet.rows = row.number + row.repeats - 1;
    this.#sheet.columns = Math.max(this.#sheet.columns, widthOf(row));
    const { first, rows } = this.#sheet;
    if (this.found > SHOWN_SHEETS || first.length >= SHOWN_ROWS) return;
    while (first.length < Math.min(row.number - 1, SHOWN_ROWS)) first.push([]);
    const cells = cellsOf(row, SHOWN_COLUMNS, '').map((cell) => (cell === '' ? '' : code(cell, 40)));
    while (first.length < Math.min(rows, SHOWN_ROWS)) first.push(cells);
  }
}
