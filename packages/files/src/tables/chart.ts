import { plain } from '../markdown.js';
import type { JsonValue, Result } from './engine.js';
import { showValue } from './result-forms.js';

/** Rows of a chart, and columns of numbers. */
export const CHART_ROWS = 50;
const MOST_SERIES = 3;
/** Columns of texts that name a row together. */
const MOST_LABELS = 2;
const DATE = /^\d{4}(?:-\d\d(?:-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?)?)?$/;
/** The steps of an axis are beside its numbers: they must be numbers too. */
const LARGEST = 1e300;
/** Characters of a name. */
const LONGEST = 60;

/** What is drawn. */
export interface Chart {
  kind: 'bars' | 'line';
  /** What is in it, in words. */
  title: string;
  /** The names of the columns of numbers. */
  series: string[];
  points: Point[];
}

/** A row: its name, and a number for each of the series. */
export interface Point {
  label: string;
  /** Milliseconds since 1970 of its date, in a line. */
  time: number;
  /** Null where the number is missing. */
  values: (number | null)[];
}

/** The chart of the first rows of a result, or a sentence that says why it has none. */
export function chartOf({ columns, rows }: Result): Chart | string {
  const shown = rows.slice(0, CHART_ROWS);
  if (shown.length === 0) return 'There is no chart of this result: it has no rows.';
  const places = columns.map((_, at) => at);
  const numbers = places.filter((at) => isNumbers(shown.map((row) => row[at]!)));
  const texts = places.filter((at) => !numbers.includes(at));
  // The first of several columns of numbers is what the rows are of, such as years.
  const labels = texts.length > 0 ? texts : numbers.slice(0, 1);
  const series = texts.length > 0 ? numbers : numbers.slice(1);
  if (labels.length > MOST_LABELS || series.length < 1 || series.length > MOST_SERIES)
    return (
      'There is no chart of this result. A chart needs a column of texts or dates, and one to three columns of numbers, such as ' +
      '`select city, sum(amount) as total from orders group by city as chart`.'
    );
  const labelOf = (row: JsonValue[]) =>
    labels.map((at) => (row[at] === null ? '(missing)' : plain(showValue(row[at]!), LONGEST))).join(', ');
  const points = shown.map((row) => ({
    label: labelOf(row),
    time: timeOf(row, labels),
    values: series.map((at) => row[at] as number | null),
  }));
  const names = series.map((at) => plain(columns[at]!, LONGEST));
  const title = `${names.join(', ')} by ${labels.map((at) => plain(columns[at]!, LONGEST)).join(', ')}`;
  const isLine =
    points.length > 1 &&
    points.every(({ time }) => !Number.isNaN(time)) &&
    new Set(points.map(({ time }) => time)).size === points.length;
  if (!isLine) return { kind: 'bars', title, series: names, points };
  return { kind: 'line', title, series: names, points: points.toSorted((a, b) => a.time - b.time) };
}

/** Whether a column consists of numbers. It may have missing values, and not only these. */
function isNumbers(values: JsonValue[]): boolean {
  const present = values.filter((value) => value !== null);
  return (
    present.length > 0 && present.every((value) => typeof value === 'number' && Math.abs(value) < LARGEST)
  );
}

/** The time of a row that is named by one date; NaN for any other. */
function timeOf(row: JsonValue[], labels: number[]): number {
  const [text] = labels.map((at) => row[at]!);
  if (labels.length !== 1 || typeof text !== 'string' || !DATE.test(text)) return NaN;
  return Date.parse(text.includes(' ') || text.includes('T') ? `${text.replace(' ', 'T')}Z` : text);
}
