import type { ListPosition } from './list-cursor.js';

/**
 * Cuts a page of a list.
 *
 * @param entries what follows the page before, in the order of the list: all, or more than `limit`
 * @param page the most entries, and the most characters of JSON that they have together. At least one entry is returned
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
  return {
    entries: fitting,
    next: last === undefined || fitting.length === entries.length ? undefined : positionOf(last),
  };
}
