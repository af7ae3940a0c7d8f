import { beginningOf } from './header.js';
import { FIRST_ROWS } from './table.js';

/** How the cells of delimited text are separated, and where its table begins. */
export interface Dialect {
  delimiter: string;
  quote: '"' | "'";
  /** Whether a quote in a cell is written as `\"`, as databases do. RFC 4180 doubles it. */
  hasEscapes: boolean;
  /** Lines before the table: comments, `sep=;`, a title, empty lines. */
  skipped: number;
  /** What these lines are, as a sentence. */
  note: string | undefined;
  /** Columns of the widest row of the sample. */
  width: number;
}

const DELIMITERS = [',', ';', '\t', '|'];
/** What no text of RFC 4180 has: a cell in quotes that goes on after `\"`. */
const ESCAPED = /(?:^|[\n,;\t|])"[^"]*\\"(?:[^"\n,;\t|]|[,;\t|][^"\n]*[^"\n,;\t|]"(?=[\n,;\t|]|$))/;
const SINGLE_QUOTED = /(^|[\n,;\t|])'(?:[^'\n\\]|''|\\.)*'(?=[\n,;\t|]|$)/g;
/** What databases write for a missing value. It has no quotes. */
export const NULL = '\\N';
/** Rows of the sample that decide. */
const ROWS = 200;
/** Lines before the table that are looked at. */
const PREAMBLE = 50;

/**
 * Finds out by its beginning how a text is delimited: the delimiter is the one with which most of the rows have the same number
 * of columns, which is more than one. A first line `sep=;` decides.
 *
 * @param original whole lines, which end with a line feed
 * @param preferred the delimiter if there is one column only
 */
export function dialectOf(original: string, preferred: string): Dialect {
  const { quote, hasEscapes } = quotesOf(original);
  const unescaped = hasEscapes ? withoutEscapes(original, quote) : original;
  // Below, only double quotes have a meaning.
  const sample =
    quote === "'" ? unescaped.replace(/['"]/g, (each) => (each === quote ? '"' : quote)) : unescaped;
  const stated = /^sep=([^\n])\n/i.exec(sample)?.[1];
  let comments = stated === undefined ? commentLines(sample) : 0;
  let skipped = stated === undefined ? comments : 1;
  const table = withoutLines(sample, skipped);
  const delimiter = stated ?? bestDelimiter(table, preferred);
  const title = stated === undefined ? titleLines(table, delimiter) : 0;
  skipped += title;
  const rows = splitRows(withoutLines(table, title), delimiter, ROWS);
  if (isHeader(sample, comments, delimiter, rows)) {
    comments -= 1;
    skipped -= 1;
  }
  const width = rows.reduce((widest, row) => Math.max(widest, row.length), 1);
  const quotes = [
    quote === "'" && "Cells are quoted with `'`.",
    hasEscapes && `A quote in a cell is written as \`\\${quote}\`.`,
  ];
  const notes = [noteOf(stated !== undefined, comments, title), ...quotes].filter(Boolean);
  return { delimiter, quote, hasEscapes, skipped, note: notes.join(' ') || undefined, width };
}

/** Single quotes are quotes if each cell that begins with one ends with one, and no cell begins with a double quote. */
function quotesOf(sample: string): Pick<Dialect, 'quote' | 'hasEscapes'> {
  const single = sample.match(SINGLE_QUOTED) ?? [];
  const isNeeded = single.length > 1 || /.[,;\t|]/.test(single[0] ?? '');
  const isSingle = isNeeded && !/(^|[\n,;\t|])['"]/.test(sample.replace(SINGLE_QUOTED, '$1'));
  return isSingle
    ? { quote: "'", hasEscapes: single.some((cell) => cell.includes("\\'")) }
    : { quote: '"', hasEscapes: ESCAPED.test(sample) };
}

/** Doubles the quotes in cells, as RFC 4180 does. */
export function withoutEscapes(text: string, quote: string): string {
  return text.replace(/\\(["'\\])/g, (_, escaped: string) => (escaped === quote ? quote + quote : escaped));
}

function noteOf(isStated: boolean, comments: number, title: number): string | undefined {
  if (isStated) return 'The first line states the separator.';
  const what = [comments > 0 && `${comments} comment`, title > 0 && `${title} other`]
    .filter(Boolean)
    .join(' and ');
  return what === '' ? undefined : `${what} line${comments + title === 1 ? '' : 's'} before the table.`;
}

/**
 * Splits delimited text (RFC 4180) into rows of cells. Empty lines are left out.
 *
 * @param limit rows that are enough
 */
export function splitRows(text: string, delimiter: string, limit: number): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let at = 0;
  while (at < text.length && rows.length < limit) {
    const { cell, end } = cellAt(text, at, delimiter);
    row.push(cell);
    at = end + 1;
    if (text[end] === delimiter) continue;
    if (row.length > 1 || row[0] !== '') rows.push(row);
    row = [];
  }
  // The text ends with a delimiter: an empty cell follows.
  if (row.length > 0) rows.push([...row, '']);
  return rows;
}

/**
 * Splits delimited text as the engine does, if each row has at most `width` cells, and no quotes but those of RFC 4180.
 *
 * @returns undefined if the text is not so, or has no rows
 */
export function regularRows(text: string, delimiter: string, width: number): string[][] | undefined {
  if (!DELIMITERS.includes(delimiter)) return undefined;
  const cell = new RegExp(`(?:"([^"]*(?:""[^"]*)*)"|([^"\\n${delimiter}]*))([\\n${delimiter}]|$)`, 'y');
  const rows: string[][] = [];
  let row: string[] = [];
  while (cell.lastIndex < text.length || row.length > 0) {
    const match = cell.exec(text);
    if (!match) return undefined;
    const [, quoted, plain, end] = match;
    row.push(quoted?.replaceAll('""', '"') ?? (plain === NULL ? '' : plain!));
    if (end === delimiter) continue;
    if (row.length > width) return undefined;
    const isEmptyLine = row.length === 1 && plain === '';
    if (!isEmptyLine || width === 1) rows.push(row);
    row = [];
  }
  return rows.length > 0 ? rows : undefined;
}

function cellAt(text: string, start: number, delimiter: string): { cell: string; end: number } {
  let at = start;
  let cell = '';
  if (text[at] === '"') {
    let quote = text.indexOf('"', at + 1);
    while (quote >= 0 && text[quote + 1] === '"') quote = text.indexOf('"', quote + 2);
    const close = quote < 0 ? text.length : quote;
    cell = text.slice(at + 1, close).replaceAll('""', '"');
    at = close + 1;
  }
  const line = text.indexOf('\n', at);
  const end = line < 0 ? text.length : line;
  const separator = text.slice(at, end).indexOf(delimiter);
  const stop = Math.min(text.length, separator < 0 ? Math.max(at, end) : at + separator);
  return { cell: cell + text.slice(at, stop), end: stop };
}

function bestDelimiter(text: string, preferred: string): string {
  // A text with commas between thousands has regular commas as well.
  if (preferred === '\t' && regularity(splitRows(text, '\t', ROWS)) >= 1) return '\t';
  let best = { delimiter: preferred, score: 0 };
  for (const delimiter of DELIMITERS) {
    const score = regularity(splitRows(text, delimiter, ROWS));
    if (score > best.score) best = { delimiter, score };
  }
  return best.delimiter;
}

/** The share of rows that have the most common number of columns. Of two equal shares, more columns give a larger result. */
function regularity(rows: string[][]): number {
  const widths = new Map<number, number>();
  for (const { length } of rows) if (length > 1) widths.set(length, (widths.get(length) ?? 0) + 1);
  const [width, frequency] = [...widths].reduce((a, b) => (b[1] > a[1] ? b : a), [0, 0]);
  return width < 2 ? 0 : frequency / rows.length + Math.min(width, 1000) / 1e6;
}

/** Whether the last comment before rows without names has as many cells as they: `#` is a part of a name then. */
function isHeader(sample: string, comments: number, delimiter: string, rows: string[][]): boolean {
  const [row = []] = comments > 0 ? splitRows(withoutLines(sample, comments - 1), delimiter, 1) : [];
  return (
    row.length > 1 &&
    row.length === rows[0]?.length &&
    beginningOf(rows.slice(0, FIRST_ROWS)).names === undefined
  );
}

/** Lines at the beginning that are empty or begin with `#`. */
function commentLines(text: string): number {
  const lines = text.split('\n', PREAMBLE);
  const count = lines.findIndex((line) => !/^\s*(#|$)/.test(line));
  return Math.max(0, count);
}

/** Lines with one cell before a table of several columns that is regular from there on. A row may have several lines. */
function titleLines(text: string, delimiter: string): number {
  const lines = text.split('\n', PREAMBLE);
  const first = lines.findIndex((line, at) => {
    const [row] = line === '' ? [] : splitRows(withoutLines(text, at), delimiter, 1);
    return row !== undefined && row.length > 1;
  });
  if (first <= 0) return 0;
  const widths = splitRows(withoutLines(text, first), delimiter, ROWS).map(({ length }) => length);
  return widths.length > 1 && widths.filter((width) => width === widths[0]).length > widths.length / 2
    ? first
    : 0;
}

export function withoutLines(text: string, count: number): string {
  let at = 0;
  for (let line = 0; line < count && at >= 0; line += 1) at = text.indexOf('\n', at) + 1 || text.length;
  return text.slice(at);
}
