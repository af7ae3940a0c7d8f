import { isMissing } from '../answer/shown-number.js';
import { readDates, readYears } from './read-dates.js';
import { type Decimal, decimalsIn, type Numbers, readNumbers } from './read-numbers.js';

/** So many rows a chart has. */
const MOST_ROWS = 50;

/** So many columns of numbers a chart has. */
const MOST_MEASURES = 3;

/** One more column is left out, such as a country beside a city. A table with more of them says something else. */
const MOST_OTHERS = 1;

/** Columns whose numbers are so much larger than others have a chart of their own. */
const SAME_SCALE = 10;

/** Names of columns whose numbers count or name rows. */
const IDENTIFIER =
  /^(?:#|id|ids|key|no\.?|nr\.?|place|position|rank|row|zip|zip code|post ?code|postal code|phone)$|[ _]id$|[a-z]Id$/;
const YEAR = /\b(?:year|jahr|année|año|anno)\b/i;
const TOTAL = /^(?:grand |sub)?totals?$|^(?:sum|all|overall|summe|gesamt|insgesamt)$/i;

/** A column of numbers. */
export interface Measure {
  name: string;
  /** Undefined where a number is missing. */
  values: (number | undefined)[];
  /** The numbers as the table shows them. */
  texts: string[];
  before: string;
  after: string;
}

/** What a chart shows of a table. */
export interface ChartData {
  /** The name of the column whose values name the rows. */
  name: string;
  labels: string[];
  /** The labels as milliseconds in UTC, in their order, if they are dates. */
  times: number[] | undefined;
  /** Measures that have a scale in common are in one list. */
  scales: Measure[][];
  /** How many rows the table has, without a row of totals. */
  rows: number;
  /** The label of the row of totals, which is left out. */
  total: string | undefined;
}

/**
 * Reads what a chart shows of a table: a column of texts or dates that names the rows, and one to three columns of numbers.
 *
 * @param table the texts of its cells, row by row; the first row has the names of the columns
 * @returns undefined if the table has no such columns
 */
export function chartOf([names = [], ...body]: string[][]): ChartData | undefined {
  if (names.length < 2 || body.some(({ length }) => length !== names.length)) return undefined;
  const last = body.at(-1)?.find((text) => TOTAL.test(text));
  const rows = last !== undefined && body.length > 2 ? body.slice(0, -1) : body;
  const shown = rows.slice(0, MOST_ROWS);
  if (shown.length < 2) return undefined;
  const columns = names.map((name, at) => ({
    name: name || `Column ${at + 1}`,
    texts: shown.map((row) => row[at]!),
    isFirst: at === 0,
  }));
  const label = labelOf(columns);
  if (!label) return undefined;
  const { measures, others } = measuresOf(columns.filter((column) => !label.columns.includes(column)));
  if (measures.length === 0 || measures.length > MOST_MEASURES || others > MOST_OTHERS) return undefined;
  const data = {
    name: label.columns.map(({ name }) => name).join(', '),
    labels: label.texts,
    times: label.times,
    scales: scalesOf(measures),
    rows: rows.length,
    total: rows === body ? undefined : last,
  };
  return data.times ? byTime(data, data.times) : data;
}

interface Column {
  name: string;
  texts: string[];
  isFirst: boolean;
}

interface Label {
  columns: Column[];
  texts: string[];
  times: number[] | undefined;
}

/**
 * The first column of texts or dates that names each row: each of its values is there once. Two columns of texts do so together too.
 * Years name rows in the first column, and where nothing else does.
 */
function labelOf(columns: Column[]): Label | undefined {
  const [first, second] = columns.filter(
    ({ texts }) => !texts.some(isMissing) && readNumbers(texts) === undefined,
  );
  const year = columns.find((column) => (first ? column.isFirst : isYear(column)));
  const years = year && isUnique(year.texts) ? readYears(year.texts) : undefined;
  if (years) return { columns: [year!], texts: year!.texts, times: years };
  if (!first) return undefined;
  const times = readDates(first.texts);
  if (isUnique(first.texts)) return { columns: [first], texts: first.texts, times };
  if (!second || times || readDates(second.texts)) return undefined;
  const texts = first.texts.map((text, at) => `${text} · ${second.texts[at]}`);
  return isUnique(texts) ? { columns: [first, second], texts, times: undefined } : undefined;
}

function isYear({ name, isFirst, texts }: Column): boolean {
  return (isFirst || YEAR.test(name)) && readYears(texts) !== undefined;
}

function measuresOf(columns: Column[]): { measures: Measure[]; others: number } {
  const decimals = new Set(columns.flatMap(({ texts }) => [...decimalsIn(texts)]));
  const decimal: Decimal = decimals.size === 1 ? [...decimals][0]! : '.';
  const measures: Measure[] = [];
  let others = 0;
  for (const column of columns) {
    const { name, texts } = column;
    const numbers = readNumbers(texts, decimal);
    if (!numbers) others += 1;
    else if (!isIdentifier(column, numbers)) measures.push({ name, texts, ...numbers });
  }
  return { measures, others };
}

/** Numbers that name rows, or count them in the first column, are no amounts. Years are none either. */
function isIdentifier(column: Column, { values }: Numbers): boolean {
  const { name, isFirst } = column;
  if (IDENTIFIER.test(name) || IDENTIFIER.test(name.toLowerCase()) || isYear(column)) return true;
  const [first] = values;
  return isFirst && (first === 0 || first === 1) && values.every((value, at) => value === first + at);
}

/** The bars of small numbers would not be seen beside those of large ones, and a share cannot be compared with an amount. */
function scalesOf(measures: Measure[]): Measure[][] {
  const scales: Measure[][] = [];
  for (const measure of measures) {
    const scale = scales.find(([first]) => hasSameScale(first!, measure));
    if (scale) scale.push(measure);
    else scales.push([measure]);
  }
  return scales;
}

function hasSameScale(one: Measure, other: Measure): boolean {
  if (one.before !== other.before || one.after !== other.after) return false;
  const [a, b] = [largestOf(one), largestOf(other)];
  return Math.max(a, b) <= Math.min(a, b) * SAME_SCALE;
}

function largestOf({ values }: Measure): number {
  return Math.max(...values.map((value = 0) => Math.abs(value)));
}

function byTime(data: ChartData, times: number[]): ChartData {
  const order = times.map((_, at) => at).sort((one, other) => times[one]! - times[other]!);
  const sorted = <T>(list: T[]): T[] => order.map((at) => list[at]!);
  const scales = data.scales.map((scale) =>
    scale.map((measure) => ({
      ...measure,
      values: sorted(measure.values),
      texts: sorted(measure.texts),
    })),
  );
  return { ...data, labels: sorted(data.labels), times: sorted(times), scales };
}

function isUnique(texts: string[]): boolean {
  return new Set(texts).size === texts.length;
}
