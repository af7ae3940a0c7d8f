import { paced } from './paced.js';
import { readXml } from './xml.js';

/** A cell as it is in the file. The meaning of its value depends on type and style. */
export interface SheetCell {
  /**
   * ECMA-376 part 1, 18.18.11: `s` number of a shared text, `n` number, `b` boolean, `str`, `inlineStr`, `d`, `e` error. And
   * `formula` if the file has a formula without its value.
   */
  type: string;
  style: number;
  value: string;
  /** Whether its row or column is hidden. */
  isHidden: boolean;
}

/** Cells of the first rows of a sheet; empty ones are left out. */
export type SheetRows = (SheetCell | undefined)[][];

/** Characters of a value that are kept: as many as the common programs allow. */
const KEPT = 32_767;
/** The last column of the common programs (`XFD`); ECMA-376 sets no limit. */
const LAST_COLUMN = 16_384;

/**
 * Reads the first rows of a worksheet, and not much more of it.
 *
 * @param rows how many rows
 * @param columns how many cells of each
 */
export async function readFirstRows(
  chunks: AsyncIterable<Uint8Array>,
  rows: number,
  columns: number,
): Promise<SheetRows> {
  const first: SheetRows = [];
  let isEnough = false;
  await readCells(
    chunks,
    (cell, row, column) => {
      if (row > rows) isEnough = true;
      if (row > rows || column > columns) return;
      while (first.length < row) first.push([]);
      first[row - 1]![column - 1] = cell;
    },
    () => isEnough,
  );
  return first;
}

/** A row of a sheet that has values. */
export interface SheetRow {
  /** From 1. */
  number: number;
  /** Empty ones are left out. */
  cells: (SheetCell | undefined)[];
}

/** Reads a worksheet row by row, no faster than the rows are taken. */
export async function* rowsOfSheet(chunks: AsyncGenerator<Uint8Array>): AsyncGenerator<SheetRow> {
  let ready: SheetRow[] = [];
  let last: SheetRow | undefined;
  const onCell = (cell: SheetCell, row: number, column: number) => {
    if (last?.number !== row) {
      last = { number: row, cells: [] };
      ready.push(last);
    }
    last.cells[column - 1] = cell;
  };
  const take = (isEnd: boolean) => {
    // The last row may go on in the next chunk.
    const whole = isEnd ? ready : ready.slice(0, -1);
    ready = ready.slice(whole.length);
    return whole;
  };
  yield* paced(chunks, (passed) => readCells(passed, onCell), take);
}

/** Reads a worksheet as it arrives. Calls `onCell` with each cell that has a value or a formula. */
export async function readCells(
  chunks: AsyncIterable<Uint8Array>,
  onCell: (cell: SheetCell, row: number, column: number) => void,
  isEnough: () => boolean = () => false,
): Promise<void> {
  let row = 0;
  let column = 0;
  let cell: SheetCell | undefined;
  let inValue = false;
  let hasFormula = false;
  let phonetic = false;
  let inHiddenRow = false;
  const hiddenColumns: [first: number, last: number][] = [];
  await readXml(chunks, {
    open(name, attributes) {
      if (name === 'row') {
        // Both numbers may be left out. Then each is one more than the last.
        row = positive(attributes['r']) ?? row + 1;
        column = 0;
        inHiddenRow = isTrue(attributes['hidden']);
      } else if (name === 'col' && isTrue(attributes['hidden'])) {
        hiddenColumns.push([Number(attributes['min']), Number(attributes['max'])]);
      } else if (name === 'c') {
        column = columnOf(attributes['r']) ?? column + 1;
        const isHidden =
          inHiddenRow || hiddenColumns.some(([first, last]) => first <= column && column <= last);
        cell = { type: attributes['t'] ?? 'n', style: Number(attributes['s'] ?? 0), value: '', isHidden };
        hasFormula = false;
      } else if (name === 'f') hasFormula = true;
      else if (name === 'rPh') phonetic = true;
      else if (name === 'v' || (name === 't' && !phonetic)) inValue = true;
    },
    text(text) {
      if (inValue && cell && cell.value.length < KEPT) cell.value += text.slice(0, KEPT);
    },
    close(name) {
      if (name === 'v' || name === 't') inValue = false;
      if (name === 'rPh') phonetic = false;
      if (name !== 'c' || !cell) return;
      // Some programs write an empty value for a formula that they did not compute. That of a text may be empty.
      if (cell.value === '' && hasFormula && cell.type !== 'str') cell.type = 'formula';
      if (cell.type === 'str' || cell.type === 'inlineStr') cell.value = unescaped(cell.value);
      else cell.value = cell.value.trim();
      if (cell.value !== '' || cell.type === 'formula') onCell(cell, row, column);
      cell = undefined;
    },
    isEnough,
  });
}

/** A text in which `_x000D_` stands for a character that XML cannot have (ECMA-376 part 1, 22.9.2.19). */
export function unescaped(text: string): string {
  return text.replace(/_x([\dA-Fa-f]{4})_/g, (_, digits: string) =>
    String.fromCharCode(parseInt(digits, 16)),
  );
}

/** `B7` is in column 2. */
export function columnOf(reference: string | undefined): number | undefined {
  const letters = /^[A-Z]{1,3}/.exec(reference ?? '')?.[0];
  if (letters === undefined) return undefined;
  let column = 0;
  for (const letter of letters) column = column * 26 + letter.charCodeAt(0) - 64;
  return Math.min(column, LAST_COLUMN);
}

function isTrue(value: string | undefined): boolean {
  return value === '1' || value === 'true';
}

function positive(value: string | undefined): number | undefined {
  return value !== undefined && /^[1-9]\d{0,7}$/.test(value) ? Number(value) : undefined;
}
