import { readXml } from './xml.js';

/** A cell as it is in the file. The meaning of its value depends on type and style. */
export interface SheetCell {
  /** ECMA-376 part 1, 18.18.11: `s` number of a shared text, `n` number, `b` boolean, `str`, `inlineStr`, `d`, `e`. */
  type: string;
  style: number;
  value: string;
}

/** Extent and first rows of a sheet. */
export interface SheetContent {
  /** Number of the last row and column that have a value. */
  rows: number;
  columns: number;
  first: (SheetCell | undefined)[][];
}

/** Characters of a value that are kept. */
const KEPT = 200;
/** The last column of the common programs (`XFD`); ECMA-376 sets no limit. */
const LAST_COLUMN = 16_384;

/**
 * Reads a worksheet as it arrives. The extent is that of the values, not the one that the file states.
 *
 * @param rows how many of the first rows to keep
 * @param columns how many cells of each to keep
 */
export async function readSheet(
  chunks: AsyncIterable<Uint8Array>,
  rows: number,
  columns: number,
): Promise<SheetContent> {
  const content: SheetContent = { rows: 0, columns: 0, first: [] };
  let row = 0;
  let column = 0;
  let cell: SheetCell | undefined;
  let inValue = false;
  let phonetic = false;
  await readXml(chunks, {
    open(name, attributes) {
      if (name === 'row') {
        // Both numbers may be left out. Then each is one more than the last.
        row = positive(attributes['r']) ?? row + 1;
        column = 0;
      } else if (name === 'c') {
        column = columnOf(attributes['r']) ?? column + 1;
        cell = { type: attributes['t'] ?? 'n', style: Number(attributes['s'] ?? 0), value: '' };
      } else if (name === 'rPh') phonetic = true;
      else if (name === 'v' || (name === 't' && !phonetic)) inValue = true;
    },
    text(text) {
      if (inValue && cell && cell.value.length < KEPT) cell.value += text.slice(0, KEPT);
    },
    close(name) {
      if (name === 'v' || name === 't') inValue = false;
      if (name === 'rPh') phonetic = false;
      if (name !== 'c' || !cell) return;
      if (cell.value !== '') keep(cell);
      cell = undefined;
    },
  });
  return content;

  function keep(value: SheetCell): void {
    content.rows = Math.max(content.rows, row);
    content.columns = Math.max(content.columns, column);
    if (row > rows || column > columns) return;
    while (content.first.length < row) content.first.push([]);
    content.first[row - 1]![column - 1] = value;
  }
}

/** `B7` is in column 2. */
function columnOf(reference: string | undefined): number | undefined {
  const letters = /^[A-Z]{1,3}/.exec(reference ?? '')?.[0];
  if (letters === undefined) return undefined;
  let column = 0;
  for (const letter of letters) column = column * 26 + letter.charCodeAt(0) - 64;
  return Math.min(column, LAST_COLUMN);
}

function positive(value: string | undefined): number | undefined {
  return value !== undefined && /^[1-9]\d{0,7}$/.test(value) ? Number(value) : undefined;
}
