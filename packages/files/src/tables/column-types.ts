import { code, count } from '../markdown.js';
import type { JsonValue } from './engine.js';
import { isLeftToEngine, READINGS } from './readings.js';
import type { Reading } from './reading.js';
import { COLUMNS_AT_ONCE } from './table.js';

/** What stands for a missing value in a column of numbers, dates or similar. In a column of texts it is a text: `NA` is Namibia. */
const MARKERS = new Set([
  ...['na', 'n/a', '#n/a', 'n.a.', 'n.a', '#n/v', 'k.a.', 'null', 'nan', 'none', 'n.d.'],
  ...['-', '–', '—', '..', '...'],
]);
const MARKERS_IN_SQL = `[${[...MARKERS].map((marker) => `'${marker}'`).join(', ')}]`;
/** Rows that show which types are worth a look at all rows, and characters of a cell: a longer one is a text. */
const SAMPLE = 1000;
const LONGEST = 100;
/** Columns that a sentence names. */
const NAMED = 5;

/** The type of a column. */
export interface ColumnType {
  label: string;
  /** How its cells are read; undefined if they are texts. */
  reading: Reading | undefined;
  /** Cells that stand for a missing value, and are read as one. */
  markers: number;
}

/** Executes a statement and returns its rows, up to a limit. */
type SelectRows = (sql: string, limit: number) => Promise<JsonValue[][]>;

/** The type of a column of texts that is in memory. @param cells without white space around */
export function columnType(cells: string[]): ColumnType {
  const present = cells.filter((cell) => cell !== '');
  const values = present.filter((cell) => !isMarker(cell));
  const markers = present.length - values.length;
  if (values.length === 0) return withoutValues(present.length);
  const areRead = ({ read }: Reading) => values.every((value) => read(value) !== undefined);
  const reading = READINGS.find(areRead);
  if (!reading) return TEXT;
  return reading.rival && areRead(reading.rival) ? UNCERTAIN : { label: reading.label, reading, markers };
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
 */
export async function columnTypes(
  columns: string[],
  from: string,
  select: SelectRows,
): Promise<ColumnType[]> {
  const types: ColumnType[] = [];
  for (let start = 0; start < columns.length; start += COLUMNS_AT_ONCE) {
    types.push(...(await typesOf(columns.slice(start, start + COLUMNS_AT_ONCE), from, select)));
  }
  return types;
}

/** The values of a column in SQL. @param column its name in SQL */
export function valueOf(column: string, { reading }: ColumnType): string {
  const v = `trim(${column})`;
  return reading
    ? `case when ${v} <> '' and not ${isMarked(v)} then ${reading.value(v)} end`
    : `case when ${v} <> '' then ${column} end`;
}

/** Sentences about how columns were read. @param delimiter of the text that they are from */
export function notesOfTypes(names: string[], types: ColumnType[], delimiter?: string): string[] {
  const columns = new Map<string, string[]>();
  for (const [at, { reading }] of types.entries()) {
    if (reading?.note !== undefined && (reading.noteAt ?? delimiter) === delimiter)
      columns.set(reading.note, [...(columns.get(reading.note) ?? []), code(names[at]!, 60)]);
  }
  const notes = [...columns].map(([note, read]) => {
    const more = read.length > NAMED ? ' …' : '';
    return `In ${read.slice(0, NAMED).join(', ')}${more}, ${note}.`;
  });
  const markers = types.reduce((sum, type) => sum + type.markers, 0);
  if (markers > 0)
    notes.push(`${count(markers, 'cell')} such as \`NA\` in columns of numbers or dates read as missing.`);
  return notes;
}

/** A column whose type is not known yet. */
interface OpenColumn {
  at: number;
  /** The number of readings that were tried. */
  tried: number;
  /** Cells of the first rows that have a value, without white space around. */
  sample: string[];
}

async function typesOf(columns: string[], from: string, select: SelectRows): Promise<ColumnType[]> {
  const cells = columns.map((column) => `left(trim(${column}), ${LONGEST})`);
  const first = await select(`select ${cells.join(', ')} from ${from} limit ${SAMPLE}`, SAMPLE);
  const samples = columns.map((_, at) => first.map((row) => (row[at] ?? '') as string));
  const isKnown = (cell: string) => cell.length < LONGEST && !isLeftToEngine(cell);
  const areAll = first.length < SAMPLE && samples.every((sample) => sample.every(isKnown));
  if (areAll) return samples.map(columnType);
  const trimmed = columns.map((column, at) => `trim(${column}) as v${at}`);
  return typesOfAll(samples, async (conditions) => {
    // It takes less memory than `count(*) filter`.
    const counts = conditions.map((condition) => `sum(case when ${condition} then 1 else 0 end)`);
    const sql = `select ${counts.join(', ')} from (select ${trimmed.join(', ')} from ${from})`;
    return (await select(sql, 1))[0]!.map(Number);
  });
}

/**
 * The types of columns by all of their cells.
 *
 * @param samples the first cells of each column
 * @param count says of how many rows each condition is true, in which `v0` is a cell of the first column
 */
async function typesOfAll(
  samples: string[][],
  count: (conditions: string[]) => Promise<number[]>,
): Promise<ColumnType[]> {
  const present = await count(samples.map((_, at) => `v${at} <> ''`));
  const markers = await count(samples.map((_, at) => isMarked(`v${at}`)));
  const types = present.map((cells, at) => (cells === markers[at] ? withoutValues(cells) : TEXT));
  let open = samples.flatMap((sample, at): OpenColumn[] => {
    const values = sample.filter((cell) => cell !== '' && !isMarker(cell));
    return present[at] === markers[at] ? [] : [{ at, tried: 0, sample: values }];
  });
  while ((open = open.filter(nextReading)).length > 0) {
    const failures = await count(open.flatMap(({ at, tried }) => testsOf(READINGS[tried]!, `v${at}`)));
    for (const column of open) {
      const reading = READINGS[column.tried++]!;
      const [failed, rivalFailed] = failures.splice(0, reading.rival ? 2 : 1);
      const read = { label: reading.label, reading, markers: markers[column.at]! };
      if (failed === 0) types[column.at] = rivalFailed === 0 ? UNCERTAIN : read;
    }
    open = open.filter(({ at }) => types[at] === TEXT);
  }
  return types;
}

/** Goes on to the next reading that the first rows allow. @returns whether there is one */
function nextReading(column: OpenColumn): boolean {
  const isAllowed = ({ read }: Reading) => column.sample.every((cell) => read(cell) !== undefined);
  while (column.tried < READINGS.length && !isAllowed(READINGS[column.tried]!)) column.tried += 1;
  return column.tried < READINGS.length;
}

/** Whether a cell has a value that a reading and its rival do not read. */
function testsOf(reading: Reading, v: string): string[] {
  const tests = [reading, ...(reading.rival ? [reading.rival] : [])];
  return tests.map(({ test }) => `${v} <> '' and not ${isMarked(v)} and not coalesce(${test(v)}, false)`);
}

/** The engine would make a join of `in`, which takes about a MiB for each column of a table. */
function isMarked(v: string): string {
  return `list_contains(${MARKERS_IN_SQL}, lower(${v}))`;
}

const TEXT: ColumnType = { label: 'text', reading: undefined, markers: 0 };
const UNCERTAIN: ColumnType = {
  ...TEXT,
  label: 'text (dates; which number is the day is not certain)',
};

function withoutValues(present: number): ColumnType {
  return present === 0 ? { ...TEXT, label: 'empty' } : TEXT;
}
