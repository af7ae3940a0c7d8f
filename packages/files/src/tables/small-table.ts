import { columnType, isMarker, notesOfTypes } from './column-types.js';
import type { ColumnType } from './column-types.js';
import type { JsonValue } from './engine.js';
import { beginningOf, endingOf } from './header.js';
import { isLeftToEngine } from './readings.js';
import { showValue } from './result-forms.js';
import {
  checkWidth,
  columnNames,
  FIRST_ROWS,
  FREQUENT,
  isNamed,
  isNumber,
  isTime,
  LAST_ROWS,
} from './table.js';
import type { Column, ColumnFigures, Table } from './table.js';
import { totalsIn, totalsNote } from './total-rows.js';

/** White space around a cell: what the engine takes for it. */
const AROUND = /^\p{Zs}+|(?<!\p{Zs})\p{Zs}+$/gu;

/**
 * A table that is described without the engine, which takes some 60 ms for each table, however small it is. What is said about
 * it is exactly what the engine would say.
 */
export class SmallTable implements Table {
  readonly rows: number;
  readonly columns: Column[];
  readonly hasHeader: boolean | undefined;
  readonly notes: string[];
  readonly #types: ColumnType[];

  private constructor(
    private readonly cells: string[][],
    names: string[],
    isHeader: boolean | undefined,
    notes: string[],
    readonly text: Table['text'],
    isTotalTold: boolean,
  ) {
    this.rows = cells.length;
    this.hasHeader = isHeader;
    this.#types = names.map((_, index) => columnType(cells.map((row) => row[index]!.replace(AROUND, ''))));
    this.columns = names.map((name, index) => ({ name, type: this.#types[index]!.label }));
    const totals = totalsIn(cells, this.columns, (row, at) => valueOf(row[at]!, this.#types[at]!));
    this.notes = [
      ...notes,
      ...totalsNote(totals, isTotalTold),
      ...notesOfTypes(names, this.#types, text?.delimiter),
    ];
  }

  /**
   * @param rows cells as texts; a row may be shorter than others. An empty text is a missing value
   * @param names of the columns, if they are not in the first row
   * @returns undefined if only the engine can describe the table
   * @throws {UnreadableFile} if it has too many columns
   */
  static of(
    rows: string[][],
    width: number,
    names: string[] | undefined,
    notes: string[],
    text: Table['text'],
  ): SmallTable | undefined {
    checkWidth(width);
    if (rows.some((row) => row.some((cell) => isLeftToEngine(cell.replace(AROUND, ''))))) return undefined;
    const whole = rows.map((row) => Array.from({ length: width }, (_, index) => row[index] ?? ''));
    const beginning = names ? undefined : beginningOf(whole.slice(0, FIRST_ROWS));
    const cells = whole.slice(beginning?.skipped);
    const ending = endingOf(cells.slice(-LAST_ROWS));
    return new SmallTable(
      cells,
      columnNames(names ?? beginning?.names ?? [], width),
      beginning && beginning.names !== undefined,
      [...notes, ...(beginning?.notes ?? []), ...ending.notes],
      text,
      ending.hasTotal,
    );
  }

  async first(rows: number, columns: number): Promise<JsonValue[][]> {
    const first = this.cells.slice(0, rows);
    return first.map((row) => row.slice(0, columns).map((cell, at) => valueOf(cell, this.#types[at]!)));
  }

  async different(column: number, most: number): Promise<string[] | undefined> {
    const values = new Set(this.#valuesOf(column));
    values.delete(null);
    return values.size > most ? undefined : [...values].map(showValue);
  }

  async figures(columns: number): Promise<ColumnFigures[]> {
    return this.columns.slice(0, columns).map((column, at) => figuresOf(column, this.#valuesOf(at)));
  }

  #valuesOf(column: number): JsonValue[] {
    return this.cells.map((row) => valueOf(row[column]!, this.#types[column]!));
  }
}

function valueOf(cell: string, { reading }: ColumnType): JsonValue {
  const v = cell.replace(AROUND, '');
  if (v === '' || (reading && isMarker(v))) return null;
  return reading ? reading.read(v)! : cell;
}

function figuresOf(column: Column, all: JsonValue[]): ColumnFigures {
  const values = all.filter((value) => value !== null);
  const times = new Map<JsonValue, number>();
  for (const value of values) times.set(value, (times.get(value) ?? 0) + 1);
  const isOrdered = isNumber(column) || isTime(column);
  return {
    missing: all.length - values.length,
    distinct: { count: times.size, isExact: true },
    min: isOrdered ? extreme(values, (a, b) => a < b) : null,
    max: isOrdered ? extreme(values, (a, b) => a > b) : null,
    mean: isNumber(column) ? meanOf(column, values as number[]) : null,
    frequent: isNamed(column) && times.size < values.length ? mostFrequent(times) : [],
  };
}

function extreme(values: JsonValue[], isBetter: (a: never, b: never) => boolean): JsonValue {
  return values.length === 0
    ? null
    : values.reduce((best, value) => (isBetter(value as never, best as never) ? value : best));
}

function meanOf({ type }: Column, values: number[]): number | null {
  if (values.length === 0) return null;
  const sum =
    type === 'integer'
      ? Number(values.reduce((total, value) => total + BigInt(value), 0n))
      : values.reduce((total, value) => total + value, 0);
  return sum / values.length;
}

function mostFrequent(times: Map<JsonValue, number>): [JsonValue, number][] {
  return [...times]
    .sort(([a, timesOfA], [b, timesOfB]) => timesOfB - timesOfA || Buffer.compare(bytesOf(a), bytesOf(b)))
    .slice(0, FREQUENT);
}

/** The engine compares texts by their bytes. */
function bytesOf(value: JsonValue): Buffer {
  return Buffer.from(showValue(value));
}
