import type { CellObject, WorkSheet } from '@e965/xlsx';
import type { FileBytes } from './file-bytes.js';
import { formOf, numberText } from './number-text.js';
import type { NumberForm } from './number-text.js';
import type { ReadTable } from './read-table.js';

/** Characters of a cell: as many as the common programs allow. */
const KEPT = 32_767;
/** Rows between two looks at the time. */
const ROWS_PER_CHECK = 1000;
/** Merged cells of a sheet that are looked at. */
const MOST_MERGED = 10_000;

/** The errors of cells by their numbers (MS-XLS 2.5.10). */
const ERRORS = new Map([
  [0x00, '#NULL!'],
  [0x07, '#DIV/0!'],
  [0x0f, '#VALUE!'],
  [0x17, '#REF!'],
  [0x1d, '#NAME?'],
  [0x24, '#NUM!'],
  [0x2a, '#N/A'],
  [0x2b, '#GETTING_DATA'],
]);

const FILLED = 'the value of a merged cell that begins above';
const NOT_FILLED = 'a number and is merged with cells below, which stay empty, so that sums count it once';

/**
 * A sheet as a table whose first row may be a header. Rows without cells are part of it.
 *
 * @param sheet as SheetJS has it in memory, in its dense form; undefined if it could not be read
 */
export function sheetTable(
  name: string | undefined,
  sheet: WorkSheet | undefined,
  from1904: boolean,
  notes: string[],
  file: FileBytes,
): ReadTable {
  if (!sheet) return { name, notes: [...notes, 'This sheet is broken and was not read.'], rows: noRows };
  return {
    name,
    notes,
    async *rows(found) {
      const reader = new CellReader(from1904);
      const fills = fillsOf(sheet, reader);
      const rows = sheet['!data'] ?? [];
      for (let index = 0; index < rows.length; index += 1) {
        if (index % ROWS_PER_CHECK === 0) file.checkTime();
        const cells = Array.from(rows[index] ?? [], (cell) => reader.textOf(cell));
        // As a person sees it; a row that has nothing else stays empty.
        const isEmpty = cells.every((cell) => cell === null);
        for (const { column, value } of isEmpty ? [] : (fills.get(index) ?? [])) {
          while (cells.length <= column) cells.push(null);
          if (cells[column] !== null) continue;
          cells[column] = value;
          reader.count(FILLED);
        }
        yield cells;
      }
      found.push(...reader.sentences());
    },
  };
}

async function* noRows(): AsyncGenerator<(string | null)[]> {}

/** What merged cells of several rows show in the rows below their first. A number is there once: a sum would count it again. */
function fillsOf(sheet: WorkSheet, reader: CellReader): Map<number, { column: number; value: string }[]> {
  const fills = new Map<number, { column: number; value: string }[]>();
  for (const { s: first, e: last } of (sheet['!merges'] ?? []).slice(0, MOST_MERGED)) {
    const cell = sheet['!data']?.[first.r]?.[first.c];
    if (last.r <= first.r || !cell) continue;
    if (reader.isNumber(cell)) {
      reader.count(NOT_FILLED);
      continue;
    }
    const value = new CellReader(reader.from1904).textOf(cell);
    if (value === null) continue;
    for (let row = first.r + 1; row <= Math.min(last.r, sheet['!data']!.length - 1); row += 1)
      fills.set(row, [...(fills.get(row) ?? []), { column: first.c, value }]);
  }
  return fills;
}

/** Reads cells as texts, and counts what has to be said about them. */
class CellReader {
  readonly #forms = new Map<string, NumberForm>();
  readonly #counts = new Map<string, number>();

  constructor(readonly from1904: boolean) {}

  textOf(cell: CellObject | undefined): string | null {
    if (!cell || cell.v === undefined || cell.v === null) return null;
    if (cell.t === 'e') {
      this.count(`an error (\`${ERRORS.get(Number(cell.v)) ?? '#ERROR'}\`), read as missing`);
      return null;
    }
    if (cell.t === 'b') return cell.v ? 'TRUE' : 'FALSE';
    if (cell.t === 'n' && typeof cell.v === 'number')
      return numberText(cell.v, this.#formOf(cell), this.from1904);
    return String(cell.v).slice(0, KEPT) || null;
  }

  /** Whether a cell can be summed. */
  isNumber(cell: CellObject): boolean {
    const form = this.#formOf(cell);
    return cell.t === 'n' && form !== 'date' && form !== 'time';
  }

  /** @param what a cell has, as the end of a sentence */
  count(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }

  sentences(): string[] {
    return [...this.#counts].map(
      ([what, cells]) =>
        `${cells.toLocaleString('en-US')} ${cells === 1 ? 'cell has' : 'cells have'} ${what}.`,
    );
  }

  #formOf({ z: format }: CellObject): NumberForm {
    if (typeof format !== 'string' || format === 'General') return undefined;
    if (!this.#forms.has(format)) this.#forms.set(format, formOf(format));
    return this.#forms.get(format);
  }
}
