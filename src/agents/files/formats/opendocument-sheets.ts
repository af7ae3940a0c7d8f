import { code, count, table } from '../markdown.js';
import { untilStopped } from '../reading-stopped.js';
import type { Findings } from './findings.js';
import { readXml } from './xml.js';
import type { XmlListener } from './xml.js';
import type { ZipArchive } from './zip-archive.js';

const SHOWN_SHEETS = 5;
const MEASURED_SHEETS = 30;
const SHOWN_ROWS = 6;
const SHOWN_COLUMNS = 8;
/** Characters of a cell that are kept. */
const KEPT = 200;
/** Bytes above which a spreadsheet takes so long that its first rows are shown before the extent of its sheets. */
const LARGE = 4 * 1024 * 1024;

interface Sheet {
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
    await readXml(zip.read(entry), first);
    for (const { name, first: rows } of first.sheets)
      yield `\n\nSheet ${code(name, 40)} begins:${tableOf(rows)}`;
  }
  const reader = new SheetReader(false);
  const stopped = await untilStopped(() => readXml(zip.read(entry), reader));
  const { sheets, found } = reader;
  yield `${isLarge ? '\n\n' : ''}${stopped ? 'At least ' : ''}${count(found, 'sheet')}.`;
  for (const [index, { name, rows, columns, first }] of sheets.entries()) {
    // Where reading stopped, only the extent of the last sheet is not known to its end.
    const atLeast = stopped && index === sheets.length - 1 ? 'at least ' : '';
    const extent = `${atLeast}${count(rows, 'row')} × ${count(columns, 'column')}.`;
    yield `\n\nSheet ${code(name, 40)}: ${extent}${isLarge ? '' : tableOf(first)}`;
  }
  if (found > sheets.length) yield `\n\n(${count(found - sheets.length, 'more sheet')}.)`;
  if (stopped) throw stopped;
}

/** The first rows, whose first is the head of the table; empty if there are none. */
function tableOf(rows: string[][]): string {
  const [head, ...others] = rows;
  if (!head) return '';
  const width = Math.max(...rows.map(({ length }) => length));
  const line = (row: string[]) =>
    Array.from({ length: width }, (_, index) => (row[index] ? code(row[index], 40) : ''));
  return `\n\n${table(line(head), others.map(line))}`;
}

/** Reads sheets (ODF 1.3 part 3, 9.1). A row or cell may stand for many equal ones. */
class SheetReader implements XmlListener {
  readonly sheets: Sheet[] = [];
  found = 0;
  #sheet: Sheet | undefined;
  #row = 0;
  #rowRepeats = 1;
  #column = 0;
  #columnRepeats = 1;
  #cells: string[] = [];
  #lastColumn = 0;
  /** The value that the cell states; undefined if it is its text. */
  #stated: string | undefined;
  #text = '';
  #paragraphs = 0;
  #annotations = 0;

  /** @param isPreview whether only the first rows of the first sheet are of interest */
  constructor(private readonly isPreview: boolean) {}

  isEnough(): boolean {
    return this.isPreview && (this.found > 1 || this.#row > SHOWN_ROWS);
  }

  open(name: string, attributes: Record<string, string>): void {
    if (name === 'table') this.#openSheet(attributes['table:name'] ?? '');
    if (name === 'table-row') {
      this.#rowRepeats = repeats(attributes['table:number-rows-repeated']);
      this.#column = 0;
      this.#cells = [];
      this.#lastColumn = 0;
    }
    if (name === 'table-cell' || name === 'covered-table-cell') {
      this.#columnRepeats = repeats(attributes['table:number-columns-repeated']);
      this.#stated = statedValue(attributes);
      this.#text = '';
    }
    if (name === 'annotation') this.#annotations += 1;
    if (name === 'p') this.#paragraphs += 1;
  }

  text(text: string): void {
    if (this.#paragraphs === 0 || this.#annotations > 0 || this.#text.length >= KEPT) return;
    this.#text += text.slice(0, KEPT);
  }

  close(name: string): void {
    if (name === 'annotation') this.#annotations -= 1;
    if (name === 'p') this.#paragraphs -= 1;
    if (name === 'table-cell' || name === 'covered-table-cell') this.#closeCell();
    if (name === 'table-row') this.#closeRow();
    if (name === 'table') this.#sheet = undefined;
  }

  #openSheet(name: string): void {
    this.found += 1;
    this.#row = 0;
    if (this.found > (this.isPreview ? 1 : MEASURED_SHEETS)) return;
    this.#sheet = { name, rows: 0, columns: 0, first: [] };
    this.sheets.push(this.#sheet);
  }

  #closeCell(): void {
    const value = this.#stated ?? this.#text;
    const end = this.#column + this.#columnRepeats;
    if (value !== '') this.#lastColumn = end;
    for (let column = this.#column; column < Math.min(end, SHOWN_COLUMNS); column += 1)
      this.#cells.push(value);
    this.#column = end;
  }

  #closeRow(): void {
    this.#row += this.#rowRepeats;
    if (!this.#sheet || this.#lastColumn === 0) return;
    this.#sheet.rows = this.#row;
    this.#sheet.columns = Math.max(this.#sheet.columns, this.#lastColumn);
    if (this.found > SHOWN_SHEETS) return;
    const { first } = this.#sheet;
    const before = Math.min(this.#row - this.#rowRepeats, SHOWN_ROWS);
    while (first.length < before) first.push([]);
    while (first.length < Math.min(this.#row, SHOWN_ROWS)) first.push(this.#cells.slice(0, this.#lastColumn));
  }
}

function repeats(value: string | undefined): number {
  return value !== undefined && /^[1-9]\d{0,6}$/.test(value) ? Number(value) : 1;
}

function statedValue(attributes: Record<string, string>): string | undefined {
  const type = attributes['office:value-type'];
  if (type === 'date') return attributes['office:date-value'];
  if (type === 'boolean') return attributes['office:boolean-value']?.toUpperCase();
  return type === 'string' || type === 'time' ? undefined : attributes['office:value'];
}
