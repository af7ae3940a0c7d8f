import { folded, likeness, wordsOf } from '../words.js';
import {
  BY,
  COMPARISON,
  EXTREME,
  FIGURES,
  LABELS,
  LEAST,
  MONTHS,
  MOST,
  NEWEST,
  OLDEST,
  PERIODS,
  SMALLER,
} from './question-words.js';
import type { Figure, Period } from './question-words.js';
import { isNested, isNumber } from './table.js';
import type { Column } from './table.js';
import { WordsOfTable } from './words-of-table.js';
import type { ColumnWords, NamedColumn, NamedValues, ValuesOf } from './words-of-table.js';

/** What a question asks of a table, as far as its words say. */
export interface TableQuestion {
  /** What is to be computed; undefined if the question does not say. */
  figure: Figure | undefined;
  /** Whether the largest or the smallest comes first; undefined if the question does not say. */
  order: 'most' | 'least' | undefined;
  /** Whether the newest or the oldest row is asked for. */
  time: 'newest' | 'oldest' | undefined;
  period: Period | undefined;
  /** The columns by which rows are grouped. */
  groups: Column[];
  /** The column whose different values are counted. */
  counted: Column | undefined;
  /** The column of numbers. Where the question names none, it is the one that such a table is most likely about. */
  number: Column | undefined;
  /** The column of dates. */
  date: Column | undefined;
  filters: Filter[];
  /** How much of the question is about the table: 0 if nothing is. */
  score: number;
}

export type Filter =
  | NamedValues
  | { kind: 'compare'; column: Column; operator: '>' | '<'; limit: number }
  | { kind: 'year' | 'month'; column: Column; number: number };

/**
 * Reads what a question asks of a table. The words are compared with the names of the columns and with their values, and some
 * words say what is to be computed. Nothing of it is understood.
 *
 * @param name of the table: it is no column
 */
export async function readQuestion(
  text: string,
  name: string,
  columns: Column[],
  valuesOf: ValuesOf,
): Promise<TableQuestion> {
  const line = folded(text);
  const words = wordsOf(text);
  const shown = columns.map((column, index) => ({ column, index, parts: wordsOf(column.name) }));
  const found = await WordsOfTable.find(words, name, shown, valuesOf);
  const namedNumber = found.columns.find((each) => isAmount(each) && !isAfterBy(each, words));
  const named = found.columns.filter((each) => each !== namedNumber && isGroup(each, words));
  const dates = [...found.columns, ...shown].filter(({ column }) => isDate(column));
  const date = dates[0]?.column;
  const period = date && ofLine(PERIODS, line);
  const order = MOST.test(line) ? 'most' : LEAST.test(line) ? 'least' : undefined;
  const asked = figureOf(line, namedNumber !== undefined, named.length > 0);
  const counted = countedOf(asked, named, period !== undefined, words);
  const figure = counted ? 'distinct' : asked;
  const groups = named.filter((each) => each !== counted).map(({ column }) => column);
  const number = (namedNumber ?? usualNumber(shown.filter(isAmount)))?.column;
  const further = [...comparisons(line, number), ...dateFilters(words, date)];
  const isMeasured = namedNumber !== undefined || order !== undefined || isComputed(figure);
  return {
    figure,
    order,
    time: date && (NEWEST.test(line) ? 'newest' : OLDEST.test(line) ? 'oldest' : undefined),
    period,
    groups: groups.slice(0, 2),
    counted: counted?.column,
    number: isMeasured ? number : undefined,
    date,
    filters: [...found.values, ...further],
    score: found.score + (period ? 1 : 0) + further.length,
  };
}

/** `how many units` asks for their sum, and `amount by city` too, but `the biggest amount by city` does not. */
function figureOf(line: string, namesNumber: boolean, hasGroups: boolean): Figure | undefined {
  const figure = ofLine(FIGURES, line);
  if (figure === 'count' && namesNumber) return 'sum';
  return figure ?? (namesNumber && hasGroups && !EXTREME.test(line) ? 'sum' : undefined);
}

/** `how many customers per city` asks for different customers. */
function countedOf(
  figure: Figure | undefined,
  named: NamedColumn[],
  hasPeriod: boolean,
  words: string[],
): NamedColumn | undefined {
  const counted = named.find((each) => !isAfterBy(each, words));
  if (figure === 'distinct') return counted;
  return figure === 'count' && (hasPeriod || named.length > 1) ? counted : undefined;
}

function isComputed(figure: Figure | undefined): boolean {
  return figure === 'sum' || figure === 'mean';
}

function ofLine<T>(all: [T, RegExp][], line: string): T | undefined {
  return all.find(([, expression]) => expression.test(line))?.[0];
}

/** Rows are grouped by texts that are named, and by numbers such as `per year`. */
function isGroup(named: NamedColumn, words: string[]): boolean {
  if (isNested(named.column) || isDate(named.column)) return false;
  return !isNumber(named.column) || isAfterBy(named, words);
}

function isAfterBy({ places }: NamedColumn, words: string[]): boolean {
  return BY.has(words[Math.min(...places) - 1] ?? '');
}

function isDate({ type }: Column): boolean {
  return type.startsWith('date');
}

/** A column of numbers that can be added up, and not of names that consist of digits. */
function isAmount({ column, parts }: ColumnWords): boolean {
  return isNumber(column) && !parts.some((part) => LABELS.has(part));
}

/** The column of numbers that a table is most likely about. */
function usualNumber(numbers: ColumnWords[]): ColumnWords | undefined {
  const like = (word: string) => numbers.find(({ parts }) => parts.some((part) => likeness(part, word) >= 2));
  return like('amount') ?? like('total') ?? like('price') ?? like('quantity') ?? numbers[0];
}

function comparisons(line: string, column: Column | undefined): Filter[] {
  const [, words = '', limit] = COMPARISON.exec(line.replace(/(\d),(\d{3})\b/g, '$1$2')) ?? [];
  if (!column || limit === undefined) return [];
  return [{ kind: 'compare', column, operator: SMALLER.test(words) ? '<' : '>', limit: Number(limit) }];
}

/** `in 2026`, `in March`, `March 2026`. */
function dateFilters(words: string[], column: Column | undefined): Filter[] {
  if (!column) return [];
  const filters: Filter[] = [];
  for (const [index, word] of words.entries()) {
    const isAfterIn = /^(in|of|im|from|for|during|since|seit|en)$/.test(words[index - 1] ?? '');
    const month = MONTHS.map((names) => names.indexOf(word) + 1).find((number) => number > 0);
    if (month !== undefined && isAfterIn) filters.push({ kind: 'month', column, number: month });
    const isYear = /^(?:19|20)\d\d$/.test(word);
    if (isYear && (isAfterIn || filters.some(({ kind }) => kind === 'month')))
      filters.push({ kind: 'year', column, number: Number(word) });
  }
  return filters;
}
