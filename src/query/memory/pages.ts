import type { ListPage, ListPosition } from '../ports/run-store.js';

/**
 * A page of a list.
 *
 * @param listed all entries, in the order of the list
 * @param page which of them
 * @param placeOf the place of an entry: a whole number that no other entry has, less than that of the entry before
 * @param lengthOf what an entry adds to the length of the page
 */
export function pageOf<Entry>(
  listed: Entry[],
  { after, limit, maxLength = Infinity }: ListPage,
  placeOf: (entry: Entry) => number,
  lengthOf: (entry: Entry) => number,
): { entries: Entry[]; next: ListPosition | undefined } {
  const rest = after === undefined ? listed : listed.filter((entry) => placeOf(entry) < after.at);
  let length = 0;
  const tooLong = rest.findIndex((entry, index) => (length += lengthOf(entry)) > maxLength && index > 0);
  const entries = rest.slice(0, tooLong < 0 ? limit : Math.min(limit, tooLong));
  const last = entries.at(-1);
  const next =
    last === undefined || entries.length === rest.length ? undefined : { at: placeOf(last), key: '' };
  return { entries, next };
}
