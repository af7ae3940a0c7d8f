import { code } from '../markdown.js';

/** One type that the cells of a column may have. */
interface Reading {
  type: string;
  /** The value of a cell as a number that can be compared; undefined if the cell does not have this type. */
  read(cell: string): number | undefined;
  /** Whether a mean of the values makes sense. */
  numeric?: boolean;
  /** Whether a minimum and a maximum make no sense. */
  unordered?: boolean;
}

/** Characters of a cell above which it is text. */
const LONGEST_VALUE = 40;
/** Different values of a column that are counted. */
const DISTINCT = 100;
/** Cells that mean that there is no value. */
const MISSING = /^\s*(na|n\/a|null|nan)?\s*$/i;

const INTEGER = /^[+-]?(0|[1-9]\d*)$/;
const DOT_DECIMAL = /^[+-]?(0|[1-9]\d*|[1-9]\d{0,2}(,\d{3})+)?(\.\d+)?([eE][+-]?\d+)?$/;
const COMMA_DECIMAL = /^[+-]?(0|[1-9]\d*|[1-9]\d{0,2}(\.\d{3})+)?(,\d+)?$/;
const ISO_DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const ISO_TIME = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/;

/** A column has the first of these types that all its cells have. */
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
  { type: 'date', read: isoDate },
  {
    type: 'date and time',
    read: (cell) => isoDate(cell) ?? isoTime(cell),
  },
  { type: 'date (day first)', read: (cell) => dateFrom(/^(\d\d?)([./-])(\d\d?)\2(\d{4})$/.exec(cell), 1, 3) },
  {
    type: 'date (month first)',
    read: (cell) => dateFrom(/^(\d\d?)([/-])(\d\d?)\2(\d{4})$/.exec(cell), 3, 1),
  },
];

/** Whether a cell has any type other than text. */
export function isReadable(cell: string): boolean {
  const value = cell.trim();
  return value.length <= LONGEST_VALUE && READINGS.some((reading) => reading.read(value) !== undefined);
}

/** The figures of a column, updated cell by cell. Their size does not depend on the number of cells. */
export class ColumnProfile {
  #missing: number;
  #present = 0;
  #candidates: Candidate[] = READINGS.map((reading) => new Candidate(reading));
  readonly #distinct = new Set<string>();
  #distinctKnown = true;

  /** @param missing number of rows before the first row that has this column */
  constructor(missing: number) {
    this.#missing = missing;
  }

  /** Adds the next cell. */
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

/** A type that all cells so far have, and the figures for it. */
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

/** Six significant digits, or two decimals from 1000 on. */
function meanOf(mean: number): string {
  const digits = Math.abs(mean) >= 1000 ? { maximumFractionDigits: 2 } : { maximumSignificantDigits: 6 };
  return mean.toLocaleString('en-US', { ...digits, useGrouping: false });
}

function finite(value: number): number | undefined {
  return Number.isFinite(value) ? value : undefined;
}

/** ISO 8601, only days that exist: `Date.parse` reads 30 February as 1 March. */
function isoDate(cell: string): number | undefined {
  const match = ISO_DATE.exec(cell);
  return match ? dayOf(Number(match[1]), Number(match[2]), Number(match[3])) : undefined;
}

/** A time without a zone is read as UTC, so that the result does not depend on where the service runs. */
function isoTime(cell: string): number | undefined {
  const match = ISO_TIME.exec(cell);
  if (!match || isoDate(cell.slice(0, 10)) === undefined) return undefined;
  return finite(Date.parse(cell.replace(' ', 'T') + (match[3] ? '' : 'Z')));
}

/** Groups `dayAt` and `monthAt` of the match are day and month, the fourth group is the year. */
function dateFrom(match: RegExpExecArray | null, dayAt: number, monthAt: number): number | undefined {
  return match ? dayOf(Number(match[4]), Number(match[monthAt]), Number(match[dayAt])) : undefined;
}

/** Undefined if the calendar has no such day. */
function dayOf(year: number, month: number, day: number): number | undefined {
  const date = new Date(0);
  // Date.UTC would read the years 0 to 99 as 1900 to 1999.
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date.getTime() : undefined;
}
