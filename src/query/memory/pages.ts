import { pageFrom } from '../contract/list-page.js';
import type { ListPage } from '../ports/run-store.js';

/**
 * Cuts a page of a list that is in memory.
 *
 * @param placeOf the place of an entry: a whole number that no other entry has, less than that of the entry before
 * @param lengthOf what an entry adds to the length of the page
 *
 * @example
 * const { entries, next } = pageOf(newestFirst, page, ({ number }) => number, () => 256);
 */
export function pageOf<Entry>(
  listed: Entry[],
  page: ListPage,
  placeOf: (entry: Entry) => number,
  lengthOf: (entry: Entry) => number,
) {
  const { after } = page;
  const rest = after === undefined ? listed : listed.filter((entry) => placeOf(entry) < after.at);
  return pageFrom(rest, page, lengthOf, (entry) => ({ at: placeOf(entry), key: '' }));
}
