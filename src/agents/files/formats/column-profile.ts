import { code } from '../markdown.js';

/** One way to understand the cells of a column. */
interface Reading {
  type: string;
  /** The value that the cell stands for, comparable with the others of its column; undefined if it is none. */
  read(cell: string): number | undefined;
  /** Whether a mean of the values says anything. */
  numeric?: boolean;
  /** Whether smallest and largest say nothing. */
  unordered?: boolean;
}

/** Longest cell that can be anything but text. */
const LONGEST_VALUE = 40;
/** Different values of a column that are told apart. */
const DISTINCT = 100;
/** Ways to write that there is no value. */
const MISSING = /^\s*(na|n\/a|null|nan)?\s*$/i;

const INTEGER = /^[+-]?(0|[1-9]\d*)$/;
const DOT_DECIMAL = /^[+-]?(0|[1-9]\d*|[1-9]\d{0,2}(,\d{3})+)?(\.\d+)?([eE][+-]?\d+)?$/;
const COMMA_DECIMAL = /^[+-]?(0|[1-9]\d*|[1-9]\d{0,2}(\.\d{3})+)?(,\d+)?$/;
const ISO_DATE = /^\d{4}-\d\d-\d\d$/;
const ISO_TIME = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/;

/** The ways to understand a cell; the first that holds for every cell of a column is taken. */
const READINGS: Reading[] = [
  { type: 'boolean', unordered: true, read: (cell) => (/^(true|false|yes|no)$/i.test(cell) ? 1 : undefined) },
  { type: 'integer', numeric: true, read: (cell) => (INTEGER.test(cell) ? Number(cell) : undefined) },
  {
    type: 'number',
    numeric: true,
    read: (cell) =>
      DOT_DECIMAL.test(cell) && /\d/.test(cell) ? finite(Number(cell.replaceAll(',', ''))) : undefined,
  },
  {
    type: 'number (decimal comma)',
    numeric: true,
    read: (cell) =>
      COMMA_DECIMAL.test(cell) && /\d/.test(cell)
        ? finite(Number(cell.replaceAll('.', '').replace(',', '.')))
        : undefined,
  },
  { type: 'date', read: (cell) => (ISO_DATE.test(cell) ? finite(Date.parse(cell)) : undefined) },
  {
    type: 'date and time',
    read: (cell) =>
      ISO_TIME.test(cell) || ISO_DATE.test(cell) ? finite(Date.parse(cell.replace(' ', 'T'))) : undefined,
  },
  { type: 'date (day first)', read: (cell) => dateFrom(/^(\d\d?)([./-])(\d\d?)\2(\d{4})$/.exec(cell), 1, 3) },
  {
    type: 'date (month first)',
    read: (cell) => dateFrom(/^(\d\d?)([/-])(\d\d?)\2(\d{4})$/.exec(cell), 3, 1),
  },
];

/** Whether a cell can be understood as anything but text. */
export function isReadable(cell: string): boolean {
  const value = cell.trim();
  return value.length <= LONGEST_VALUE && READINGS.some((reading) => reading.read(value) !== undefined);
}

/** What is kept of a column while its cells pass: bounded, however many they are. */
export class ColumnProfile {
  #missing: number;
  #present = 0;
  #candidates: Candidate[] = READINGS.map((reading) => new Candidate(reading));
  readonly #distinct = new Set<string>();
  #distinctKnown = true;

  /** @param missing rows before the first that had this column */
  constructor(missing: number) {
    this.#missing = missing;
  }

  /** Takes the next cell into account. */
  add(cell: string): void {
    if (MISSING.test(cell.slice(0, LONGEST_VALUE))) {
      this.#missing += 1;
      return;
    }
    this.#present += 1;
    if (this.#distinctKnown) this.#note(cell);
    if (this.#candidates.length === 0) return;
    const value = cell.trim();
    const fits = value.length <= LONGEST_VALUE;
    this.#candidates = this.#candidates.filter((candidate) => fits && candidate.add(value));
  }

  /** Type, missing, distinct, min, max, mean; each in Markdown. */
  toCells(): string[] {
    const missing = this.#missing.toLocaleString('en-US');
    if (this.#present === 0) return ['empty', missing, '0', '', '', ''];
    const distinct = this.#distinctKnown ? String(this.#distinct.size) : 'many';
    return [...(this.#candidates[0]?.toCells(missing, distinct) ?? ['text', missing, distinct, '', '', ''])];
  }

  #note(cell: string): void {
    this.#distinctKnown = cell.length <= 200 && (this.#distinct.size < DISTINCT || this.#distinct.has(cell));
    if (this.#distinctKnown) this.#distinct.add(cell);
    else this.#distinct.clear();
  }
}

/** A reading that has held so far, with the figures that it gives. */
class Candidate {
  #count = 0;
  #mean = 0;
  #min = { value: Infinity, cell: '' };
  #max = { value: -Infinity, cell: '' };

  constructor(private readonly reading: Reading) {}

  add(cell: string): boolean {
    const value = this.reading.read(cell);
    if (value === undefined) return false;
    this.#count += 1;
    this.#mean += (value - this.#mean) / this.#count;
    if (value < this.#min.value) this.#min = { value, cell };
    if (value > this.#max.value) this.#max = { value, cell };
    return true;
  }

  toCells(missing: string, distinct: string): string[] {
    const { type, numeric, unordered } = this.reading;
    const range = unordered ? ['', ''] : [code(this.#min.cell, 30), code(this.#max.cell, 30)];
    return [type, missing, distinct, ...range, numeric ? meanOf(this.#mean) : ''];
  }
}

function meanOf(mean: number): string {
  return mean.toLocaleString('en-US', { maximumSignificantDigits: 6, useGrouping: false });
}

function finite(value: number): number | undefined {
  return Number.isFinite(value) ? value : undefined;
}

/** The day that a match names, or undefined where the calendar has no such day. */
function dateFrom(match: RegExpExecArray | null, dayAt: number, monthAt: number): number | undefined {
  if (!match) return undefined;
  const [day, month, year] = [Number(match[dayAt]), Number(match[monthAt]), Number(match[4])];
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date.getTime() : undefined;
}
