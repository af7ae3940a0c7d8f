import { code } from '../markdown.js';

/** Where something is in a file. Numbers are from 1. */
export interface Place {
  /** The entry of an archive. */
  entry?: string;
  /** A document of an e-book. */
  document?: number;
  page?: number;
  slide?: number;
  /** A cell of a notebook. */
  cell?: number;
  sheet?: string;
  row?: number;
  line?: number;
  paragraph?: number;
  /** What it is beside the text, such as `footnote 1`. */
  aside?: string;
}

/** A line, a paragraph or a row of a file. */
export interface Passage {
  place: Place;
  text: string;
  /** The level of a heading, from 0. */
  level?: number;
  /** Whether it is a paragraph, which no other line continues. */
  isParagraph?: boolean;
}

export type Passages = AsyncGenerator<Passage, void, undefined>;

/** The place in words: `page 3`, ``sheet `Notes`, row 7``. */
export function showPlace(place: Place): string {
  const { entry, sheet, aside, ...numbers } = place;
  return [
    ...(entry === undefined ? [] : [`entry ${code(entry)}`]),
    ...(sheet === undefined ? [] : [`sheet ${code(sheet, 40)}`]),
    ...Object.entries(numbers).map(([what, number]) => `${what} ${number.toLocaleString('en-US')}`),
    ...(aside === undefined ? [] : [aside]),
  ].join(', ');
}
