import type { JsonValue } from './engine.js';

/** How a cell can be read. `v` is the cell without white space around. */
export interface Reading {
  label: string;
  /** Whether a cell is of this type, in SQL. */
  test: (v: string) => string;
  /** The value of such a cell, in SQL. */
  value: (v: string) => string;
  /** The same value without the engine; undefined if the cell is not of this type. */
  read: (v: string) => JsonValue | undefined;
  /** Another way to read the same cells. Where all cells of a column allow both, neither is certain. */
  rival?: Reading;
  /** What has to be said about a column that is read so, as the end of a sentence. */
  note?: string;
  /** The separator of texts about which it is said; of all tables if absent. */
  noteAt?: string;
}

/** Whether a text matches a pattern as a whole, in SQL. */
export function matches(v: string, { source }: RegExp): string {
  return `regexp_full_match(${v}, '${source.replaceAll("'", "''")}')`;
}

/** Reads the texts that match a pattern as a whole. */
export function reader(
  pattern: RegExp,
  valueOf: (match: RegExpExecArray) => JsonValue | undefined,
): Reading['read'] {
  const isWhole = whole(pattern);
  return (v) => {
    const match = isWhole.exec(v);
    return match ? valueOf(match) : undefined;
  };
}

/** A pattern for a text as a whole. */
export function whole({ source }: RegExp): RegExp {
  return new RegExp(`^(?:${source})$`, 'u');
}
