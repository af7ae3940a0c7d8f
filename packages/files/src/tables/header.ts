import { code, count } from '../markdown.js';
import { isMarker } from './column-types.js';
import { isWrittenAsNumber } from './number-readings.js';
import { isTotal } from './total-rows.js';

const NUMBER = /^[+-]?(\d[\d.,]*|[.,]\d+)([eE][+-]?\d+)?$/;
/** Values that are names as well, if the cells below are something else: `city, 2019, 2020` and `question, yes, no`. */
const NAMING = [
  /^(1[5-9]|20|21)\d\d$/,
  /^(\d{4}[-/]\d\d?[-/]\d\d?([T ].*)?|\d\d?[./-]\d\d?[./-]\d{2,4})$/,
  /^\d\d?:\d\d(:\d\d)?$/,
  /^(true|false|yes|no)$/i,
  /^[+-]?(\d[\d.,]*|[.,]\d+)\s*%$/,
];
/** Cells of a row that a sentence shows. */
const SHOWN = 3;

/** How a table begins. */
export interface Beginning {
  /** The row that names the columns; undefined if there is none. */
  names: string[] | undefined;
  /** Rows that are no data: what comes before the names, and they. */
  skipped: number;
  /** Sentences about these rows. */
  notes: string[];
}

/**
 * Where a table begins. The first row names the columns, or a later one that has more cells than all rows before it: these are a
 * title and notes.
 *
 * @param first the first rows
 */
export function beginningOf(first: string[][]): Beginning {
  const empty = first.findIndex((row) => textsOf(row).length > 0);
  if (empty > 0) {
    const { names, skipped, notes } = beginningOf(first.slice(empty));
    const note = `${count(empty, 'row')} without a value before the table left out.`;
    return { names, skipped: empty + skipped, notes: [note, ...notes] };
  }
  const rows = first.map((row) => row.map((cell) => cell.trim()));
  const filled = rows.map((row) => row.filter((cell) => cell !== '').length);
  const width = columnsOf(rows);
  const isSparse = filled[0]! * 2 <= width;
  const isSecond = !isSparse && filled[0]! < width && filled[1] === width;
  const candidates = [...rows.keys()].filter(
    (at) => filled.slice(0, at).every((cells) => cells < filled[at]!) && areNames(rows, at),
  );
  const overValues = candidates.filter(
    (at) =>
      (at !== 1 || isSparse || isSecond) &&
      hasValuesBelow(rows, at, (cell) => isWord(cell) || isNaming(cell)),
  );
  const sure = overValues.findLast((at) => filled[at - 1] === 0) ?? overValues[0];
  const guess = candidates.find((at) => at > 0 && isUnderTitle(rows, filled, at));
  const at = sure ?? guess ?? candidates.find((each) => each === 0);
  if (at === undefined) return { names: undefined, skipped: 0, notes: mayBeNames(rows) };
  const notes = [...rowsBefore(rows.slice(0, at)), ...secondNames(rows, at)];
  const isDoubtful = (cell: string) => isValue(cell) && (sure === undefined || !isNaming(cell));
  const isGuess = (at === guess && at !== sure) || (at === 1 && isSecond);
  if (isGuess || (rows[at]!.some(isDoubtful) && !(sure === 0 && isNumbered(rows[0]!))))
    notes.push('Which row names the columns is not certain.');
  return { names: first[at], skipped: at + 1, notes };
}

/** A sentence about the first row of a table without names if it has words that no other row has. */
function mayBeNames(rows: string[][]): string[] {
  const [first = [], ...others] = rows;
  const isName = (cell: string, column: number) =>
    isWord(cell) && others.every((row) => row[column] !== cell);
  const mayBe = others.length > 0 && first.some(isName) && first.every((cell) => cell !== '');
  return mayBe ? ['The first row is read as values; it may name the columns.'] : [];
}

/** What the last rows of a table are, if they are not only rows. */
export interface Ending {
  hasTotal: boolean;
  notes: string[];
}

/** Whether a table ends with a total, and with notes below it. @param last the last rows, which are equally long */
export function endingOf(last: string[][]): Ending {
  const rows = last.map(textsOf).filter((texts) => texts.length > 0);
  const isOneColumn = last[0]?.length === 1;
  const end = rows.findLastIndex((texts) => isOneColumn || !isRemark(texts)) + 1;
  const row = rows[end - 1] ?? [];
  const below = end > 0 ? rows.slice(end).flat() : [];
  const hasTotal = row.length > 1 && row.some(isTotal) && row.some(isValue);
  return {
    hasTotal,
    notes: [
      hasTotal && `The last row looks like a total, and is read as a row: ${shown(row)}.`,
      below.length > 0 &&
        `What looks like notes at the end is read as ${count(below.length, 'row')}: ${shown(below)}.`,
    ].filter((note) => note !== false),
  };
}

/** Whether a row has nothing but a text of several words, such as where a table comes from. */
function isRemark([text, ...others]: string[]): boolean {
  return others.length === 0 && isWord(text!) && /\S[\s:]/.test(text!);
}

/** Whether no cell of a row is a value. What names as well as values are is a name only if it differs from the cells below. */
function areNames(rows: string[][], at: number): boolean {
  const row = rows[at]!;
  const texts = textsOf(row);
  if (texts.length * 2 <= columnsOf(rows.slice(at)) && !isNumbered(row)) return false;
  const areDifferent = new Set(texts).size === texts.length;
  const mayBeNumbers =
    at === 0 && ((isNumbered(row) && !isNumbered(rows[1] ?? [])) || hasValuesBelow(rows, at, isWord));
  return row.every((cell, column) => {
    if (!isValue(cell)) return true;
    const below = cellsBelow(rows, at, column);
    if (!areDifferent || below.length === 0) return false;
    const naming = NAMING.find((pattern) => pattern.test(cell));
    if (!naming) return mayBeNumbers;
    return below.filter((value) => naming.test(value)).length * 2 < below.length;
  });
}

/** Whether the cells are counted from 0 or 1, as programs name columns: `id, 0, 1, 2`. */
function isNumbered([first = '', ...others]: string[]): boolean {
  return (
    !isValue(first) &&
    others.length > (first === '' ? 0 : 2) &&
    [0, 1].some((from) => others.every((cell, index) => cell === String(index + from)))
  );
}

/** Whether the cells below a name are values. */
function hasValuesBelow(rows: string[][], at: number, isName: (cell: string) => boolean): boolean {
  return rows[at]!.some((cell, column) => isName(cell) && areValues(cellsBelow(rows, at, column)));
}

function areValues(cells: string[]): boolean {
  return isValue(cells[0] ?? '') && cells.filter(isValue).length * 2 > cells.length;
}

/** Whether a row of a table of texts has all cells, and a title or an empty row is above. */
function isUnderTitle(rows: string[][], filled: number[], at: number): boolean {
  const below = filled.slice(at + 1);
  const isTitle = filled[at - 1] === 0 || filled.slice(0, at).every((cells) => cells <= 1);
  const areFull = below.filter((cells) => cells * 2 > filled[at]!).length * 2 > below.length;
  return isTitle && areFull && filled[at] === columnsOf(rows) && filled[at] > 1;
}

function rowsBefore(rows: string[][]): string[] {
  if (rows.length === 0) return [];
  const texts = rows.flatMap(textsOf);
  return [`${count(rows.length, 'row')} before the table${texts.length > 0 ? `: ${shown(texts)}` : ''}.`];
}

/** A sentence about the row after the names if it looks like further names, or like units. */
function secondNames(rows: string[][], at: number): string[] {
  const second = rows[at + 1] ?? [];
  const overValues = second.flatMap((cell, column) => {
    const below = cellsBelow(rows, at + 1, column);
    return below.length > 1 && areValues(below) ? [cell] : [];
  });
  const areWords = second.every((cell) => cell === '' || isWord(cell));
  if (!areWords || overValues.length === 0 || overValues.includes('')) return [];
  return [`A second row looks like names or units, and is read as a row: ${shown(textsOf(second))}.`];
}

function shown(texts: string[]): string {
  const first = texts.slice(0, SHOWN).map((text) => code(text, 60));
  return `${first.join(', ')}${texts.length > SHOWN ? ' …' : ''}`;
}

function textsOf(row: string[]): string[] {
  return row.map((cell) => cell.trim()).filter((cell) => cell !== '');
}

function cellsBelow(rows: string[][], at: number, column: number): string[] {
  return rows
    .slice(at + 1)
    .map((row) => row[column] ?? '')
    .filter((cell) => cell !== '');
}

/** Columns in which a row has a cell. */
function columnsOf(rows: string[][]): number {
  return rows[0]?.filter((_, column) => rows.some((row) => row[column] !== '')).length ?? 0;
}

function isWord(cell: string): boolean {
  return cell !== '' && !isValue(cell) && !isMarker(cell);
}

function isValue(cell: string): boolean {
  return NUMBER.test(cell) || isWrittenAsNumber(cell) || isNaming(cell);
}

function isNaming(cell: string): boolean {
  return NAMING.some((pattern) => pattern.test(cell));
}
