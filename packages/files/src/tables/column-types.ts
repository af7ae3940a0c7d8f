import { READINGS } from './readings.js';
import type { Reading } from './readings.js';

/** What stands for a missing value in a column of numbers, dates or similar. In a column of texts it is a text: `NA` is Namibia. */
const MARKERS = new Set(['na', 'n/a', '#n/a', 'null', 'nan', 'none', '-']);
const MARKERS_IN_SQL = `(${[...MARKERS].map((marker) => `'${marker}'`).join(', ')})`;
/** Rows that show which types are worth a look at all rows. */
const SAMPLE = 1000;

/** The type of a column. */
export interface ColumnType {
  label: string;
  /** How its cells are read; undefined if they are texts. */
  reading: Reading | undefined;
  /** Cells that stand for a missing value, and are read as one. */
  markers: number;
}

/** Executes a statement and returns its only row. */
type SelectRow = (sql: string) => Promise<unknown[]>;

/** The type of a column of texts that is in memory. @param cells without white space around */
export function columnType(cells: string[]): ColumnType {
  const present = cells.filter((cell) => cell !== '');
  const values = present.filter((cell) => !isMarker(cell));
  const readings = READINGS.filter(({ read }) => values.every((value) => read(value) !== undefined));
  return typeOf({ present: present.length, markers: present.length - values.length, readings });
}

/** Whether a cell without white space around stands for a missing value. */
export function isMarker(cell: string): boolean {
  return MARKERS.has(cell.toLowerCase());
}

/**
 * Finds the types of columns of texts with the engine. Every cell is looked at, so that a query never fails because of a later
 * one.
 *
 * @param columns names in SQL
 * @param from the rows, in SQL: a table with its condition
 * @param rows how many they are
 */
export async function columnTypes(
  columns: string[],
  from: string,
  rows: number,
  row: SelectRow,
): Promise<ColumnType[]> {
  const all = columns.map(() => READINGS);
  const possible = await possibleReadings(columns, `(from ${from} limit ${SAMPLE})`, all, row);
  if (rows <= SAMPLE) return possible.map(typeOf);
  const candidates = possible.map(({ readings }) => readings);
  return (await possibleReadings(columns, `(from ${from})`, candidates, row)).map(typeOf);
}

/** The values of a column in SQL. @param column its name in SQL */
export function valueOf(column: string, { reading }: ColumnType): string {
  const v = `trim(${column})`;
  return reading
    ? `case when ${v} <> '' and lower(${v}) not in ${MARKERS_IN_SQL} then ${reading.value(v)} end`
    : `case when ${v} <> '' then ${column} end`;
}

interface Possible {
  present: number;
  markers: number;
  readings: Reading[];
}

async function possibleReadings(
  columns: string[],
  from: string,
  candidates: Reading[][],
  row: SelectRow,
): Promise<Possible[]> {
  const cells = columns.map((column, index) => `trim(${column}) as v${index}`);
  const figures = columns.flatMap((_, index) => {
    const v = `v${index}`;
    const isMarked = `lower(${v}) in ${MARKERS_IN_SQL}`;
    return [
      `count(*) filter (${v} <> '')`,
      `count(*) filter (${isMarked})`,
      ...candidates[index]!.map(
        ({ test }) => `count(*) filter (${v} <> '' and not ${isMarked} and not coalesce(${test(v)}, false))`,
      ),
    ];
  });
  const counts = (
    await row(`select ${figures.join(', ')} from (select ${cells.join(', ')} from ${from})`)
  ).map(Number);
  return columns.map((_, index) => {
    const [present = 0, markers = 0, ...failures] = counts.splice(0, candidates[index]!.length + 2);
    return { present, markers, readings: candidates[index]!.filter((_, at) => failures[at] === 0) };
  });
}

function typeOf({ present, markers, readings }: Possible): ColumnType {
  const text = { reading: undefined, markers: 0 };
  if (present === 0) return { label: 'empty', ...text };
  const [first] = readings;
  if (!first || present === markers) return { label: 'text', ...text };
  if (first.label === 'date (day first)' && readings.some(({ label }) => label === 'date (month first)')) {
    return { label: 'text (dates; which number is the day is not certain)', ...text };
  }
  return { label: first.label, reading: first, markers };
}
