import { Buffer } from 'node:buffer';

/** Where a page of a list ends. What it means is known to the store that has returned it, and to no one else. */
export interface ListPosition {
  /** A whole number, from 0: the place in the order of the list. */
  at: number;
  /** Tells entries at the same place apart: up to 100 characters of `A-Z`, `a-z`, `0-9`, `-` and `_`. */
  key: string;
}

/** The position as callers get it: an opaque text. */
export function cursorText({ at, key }: ListPosition): string {
  return Buffer.from(`${at}.${key}`).toString('base64url');
}

/** Reads what `cursorText` has written. Undefined if the text is anything else. */
export function positionOf(cursor: string): ListPosition | undefined {
  const [, at, key] = /^(\d{1,15})\.([\w-]{0,100})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (at === undefined || key === undefined) return undefined;
  const position = { at: Number(at), key };
  return cursorText(position) === cursor ? position : undefined;
}

/**
 * Cuts a page of a list. It has at least one entry, if there is one.
 *
 * @param entries what follows the page before, in the order of the list: all, or more than `limit`
 * @param page the most entries, and the most characters of JSON that they have together
 * @param lengthOf what an entry adds to the length of the page
 * @param positionOf where a page ends whose last entry it is
 *
 * @example
 * const { entries, next } = pageFrom(runs, page, () => 256, ({ number }) => ({ at: number, key: '' }));
 */
export function pageFrom<Entry>(
  entries: Entry[],
  { limit, maxLength = Infinity }: { limit: number; maxLength?: number },
  lengthOf: (entry: Entry) => number,
  positionOf: (entry: Entry) => ListPosition,
): { entries: Entry[]; next: ListPosition | undefined } {
  let length = 0;
  const tooLong = entries.findIndex((entry, index) => (length += lengthOf(entry)) > maxLength && index > 0);
  const fitting = entries.slice(0, tooLong < 0 ? limit : Math.min(limit, tooLong));
  const last = fitting.at(-1);
  const hasMore = fitting.length < entries.length;
  return { entries: fitting, next: last !== undefined && hasMore ? positionOf(last) : undefined };
}

/**
 * Cuts a page of a list that is in memory.
 *
 * @param listed all entries, those with greater numbers first. No two have the same number
 * @param lengthOf what an entry adds to the length of the page
 *
 * @example
 * const { entries, next } = pageOf(newestFirst, page, () => 256);
 */
export function pageOf<Entry extends { readonly number: number }>(
  listed: Entry[],
  page: { after: ListPosition | undefined; limit: number; maxLength?: number },
  lengthOf: (entry: Entry) => number,
): { entries: Entry[]; next: ListPosition | undefined } {
  const end = page.after?.at ?? Infinity;
  const rest = listed.filter(({ number }) => number < end);
  return pageFrom(rest, page, lengthOf, ({ number }) => ({ at: number, key: '' }));
}
