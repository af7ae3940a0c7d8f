import { code, count } from '../markdown.js';
import type { Encoding } from '../formats/code-pages.js';
import { UnreadableFile } from '../unreadable-file.js';
import type { JsonValue } from './engine.js';

/** A table that can be described. */
export interface Table {
  rows: number;
  columns: Column[];
  /** Whether a row of the file names the columns; undefined if the format does. */
  hasHeader: boolean | undefined;
  /** How the text was read; undefined if the file is no text. */
  text: { delimiter: string; encoding: Encoding } | undefined;
  /** Sentences about the file as it was read. */
  notes: string[];
  /** The values of the first rows, in the first columns. */
  first(rows: number, columns: number): Promise<JsonValue[][]>;
  /** What is in the first columns. */
  figures(columns: number): Promise<ColumnFigures[]>;
  /** The different values of a column, as texts; undefined if there are more than `most`. */
  different(column: number, most: number): Promise<string[] | undefined>;
}

export interface Column {
  name: string;
  /** In words, such as `date (day first)`. */
  type: string;
}

/** What is in a column. */
export interface ColumnFigures {
  missing: number;
  /** Different values; undefined for lists and objects. */
  distinct: { count: number; isExact: boolean } | undefined;
  /** Of numbers, dates and times; null otherwise. */
  min: JsonValue;
  max: JsonValue;
  /** Of numbers; null otherwise. */
  mean: number | null;
  /** The most frequent values of another column in which a value is repeated, and how often they occur. */
  frequent: [value: JsonValue, times: number][];
}

/** Frequent values of a column. */
export const FREQUENT = 3;
/** Rows that decide which one names the columns. */
export const FIRST_ROWS = 50;
/** Rows at the end of which some may be a total and notes. */
export const LAST_ROWS = 10;
/** Bytes of a row. The engine reads with sixteen times as much memory. */
export const LONGEST_ROW = 1024 * 1024;
/** Columns of a table: the engine keeps some of each in memory. */
export const MAX_COLUMNS = 1000;
/** Columns that a statement is about: the engine takes memory for each expression. */
export const COLUMNS_AT_ONCE = 10;
/** Characters of the name of a column. */
const LONGEST_NAME = 200;

/** @throws {UnreadableFile} if a table has too many columns */
export function checkWidth(width: number): void {
  if (width <= MAX_COLUMNS) return;
  throw new UnreadableFile(
    `This table has ${count(width, 'column')}; only tables up to ${count(MAX_COLUMNS, 'column')} are opened here.`,
  );
}

/** Names that are unique whatever their case is, as SQL needs them. */
export function columnNames(row: string[], width: number): string[] {
  const taken = new Set<string>();
  return Array.from({ length: width }, (_, index) => {
    const base = (row[index] ?? '').trim().slice(0, LONGEST_NAME) || `column_${index + 1}`;
    let name = base;
    for (let number = 2; taken.has(name.toLowerCase()); number += 1) name = `${base}_${number}`;
    taken.add(name.toLowerCase());
    return name;
  });
}

/** What an answer that depends on tables says first about how they were read: its end may be cut for a model. */
export function notesOf(tables: { name: string; notes: string[] }[]): string {
  const read = tables.filter(({ notes }) => notes.length > 0);
  return read.map(({ name, notes }) => `About ${code(name)}: ${notes.join(' ')}\n\n`).join('');
}

export function isNumber({ type }: Column): boolean {
  return type === 'integer' || type.startsWith('number');
}

export function isTime({ type }: Column): boolean {
  return type.startsWith('date') || type === 'time';
}

export function isNested({ type }: Column): boolean {
  return type === 'list' || type === 'object';
}

/** Whether its most frequent values say more than the smallest and the largest one. */
export function isNamed(column: Column): boolean {
  return !isNumber(column) && !isTime(column);
}
