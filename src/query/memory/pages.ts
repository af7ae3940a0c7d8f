import { pageFrom } from '../contract/list-page.js';
import type { ListPage } from '../ports/run-store.js';

/**
 * A page of a list.
 *
 * @param placeOf the place of an entry: a whole number that no other entry has, less than that of the entry before
 * @param lengthOf what an entry adds to the length of the page
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
