import { hasMeaning, isVariant, likeness, wordsOf } from '../words.js';
import { saysWhat } from './question-words.js';
import { isNested, isNumber } from './table.js';
import type { Column } from './table.js';

/** A column, and the words of its name. */
export interface ColumnWords {
  column: Column;
  /** Its place in the table. */
  index: number;
  parts: string[];
}

/** A column that a question names. */
export interface NamedColumn extends ColumnWords {
  /** The places of the words that name it. */
  places: number[];
  /** How well they fit: 3 for each word of the name, or less. */
  likeness: number;
}

/** Values of a column that a question names. */
export interface NamedValues {
  kind: 'values';
  column: Column;
  values: string[];
}

/** The different values of a column, by its place; undefined if there are too many. */
export type ValuesOf = (index: number) => Promise<string[] | undefined>;

/** Words of a value, at most. */
const LONGEST_VALUE = 3;

/** Finds out which columns and values of a table the words of a question name. Each word names one of them. */
export class WordsOfTable {
  readonly #free: Set<number>;
  columns: NamedColumn[];
  readonly values: NamedValues[] = [];
  /** How much of the question is about the table. */
  score = 0;

  private constructor(
    private readonly words: string[],
    shown: ColumnWords[],
  ) {
    this.#free = new Set(words.flatMap((word, place) => (hasMeaning(word) ? [place] : [])));
    this.columns = this.#columnsIn(shown);
  }

  /** @param name of the table: a word of it is no value */
  static async find(
    words: string[],
    name: string,
    shown: ColumnWords[],
    valuesOf: ValuesOf,
  ): Promise<WordsOfTable> {
    const first = new WordsOfTable(words, shown);
    first.#useColumns(name);
    // To look at all values takes longer than everything else.
    if (first.#free.size === 0) return first;
    const values: Known = new Map();
    for (const { column, index } of shown)
      if (!isNumber(column) && !column.type.startsWith('date') && !isNested(column))
        addKnown(values, column, (await valuesOf(index)) ?? []);
    const found = new WordsOfTable(words, shown);
    for (let length = LONGEST_VALUE; length > 1; length -= 1) found.#useValues(length, values, sameIn);
    found.columns = found.#columnsIn(shown);
    found.#useColumns(name);
    found.#useValues(1, values, sameIn);
    found.#useValues(1, values, nearIn);
    return found;
  }

  /** Those that are named best first. Of a long name, the question may have some of the words. */
  #columnsIn(shown: ColumnWords[]): NamedColumn[] {
    const taken = new Set<number>();
    return shown
      .map((each) => ({ ...each, ...this.#namedBy(each.parts) }))
      .toSorted((a, b) => b.likeness - a.likeness)
      .filter(({ places }) => {
        const isNew = places.some((place) => !taken.has(place));
        places.forEach((place) => taken.add(place));
        return isNew;
      });
  }

  #namedBy(parts: string[]): { likeness: number; places: number[] } {
    const found = parts.map((part) => {
      const all = [...this.#free].map((place) => ({ place, likeness: likeness(this.words[place]!, part) }));
      return all.reduce((best, each) => (each.likeness > best.likeness ? each : best), NO_PLACE);
    });
    const isWhole = found.every((each) => each.likeness > 0);
    const used = isWhole ? found : found.filter((each, at) => each.likeness === 3 && hasMeaning(parts[at]!));
    const sum = used.reduce((all, each) => all + each.likeness, 0);
    return { likeness: isWhole ? sum : sum / 3, places: used.map(({ place }) => place) };
  }

  #useColumns(name: string): void {
    for (const column of this.columns) {
      column.places.forEach((place) => this.#free.delete(place));
      this.score += column.likeness;
    }
    for (const place of this.#free) {
      const word = this.words[place]!;
      const isOfName = wordsOf(name).some((each) => likeness(word, each) === 3);
      if (isOfName) this.score += 1;
      if (isOfName || saysWhat(word)) this.#free.delete(place);
    }
  }

  #useValues(length: number, all: Known, find: typeof sameIn): void {
    for (let at = 0; at + length <= this.words.length; at += 1) {
      const places = Array.from({ length }, (_, index) => at + index);
      if (!places.some((place) => this.#free.has(place))) continue;
      const asked = this.words.slice(at, at + length).join(' ');
      const found = find(all, asked);
      if (!found) continue;
      places.forEach((place) => this.#free.delete(place));
      this.#add(found.column, found.value);
      this.score += find === nearIn ? 1 : 3 * length;
    }
  }

  #add(column: Column, value: string): void {
    const known = this.values.find((each) => each.column === column);
    if (known) known.values.push(value);
    else this.values.push({ kind: 'values', column, values: [value] });
  }
}

/** Values, the first of each by its folded words. */
type Known = Map<string, KnownValue>;

interface KnownValue {
  column: Column;
  value: string;
}

const NO_PLACE = { place: -1, likeness: 0 };

function addKnown(all: Known, column: Column, values: string[]): void {
  for (const value of values) {
    const words = wordsOf(value);
    const text = words.join(' ');
    if (words.length <= LONGEST_VALUE && !all.has(text)) all.set(text, { column, value });
  }
}

function sameIn(all: Known, asked: string): KnownValue | undefined {
  return all.get(asked);
}

/** A plural, or a typo. */
function nearIn(all: Known, asked: string): KnownValue | undefined {
  for (const [known, found] of all) if (isVariant(known, asked)) return found;
  return undefined;
}
