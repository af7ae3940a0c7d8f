import { QueryError } from 'nest-agent-query';
import { heldLength } from 'nest-agent-query/protocol';
import type { Item } from './turn-items.js';

/** How many characters the items of a page have, about, but at least one item. */
const PAGE_LENGTH = 1024 * 1024;

/** Which items of a list are returned. */
export interface ItemPage {
  limit: number;
  isAscending: boolean;
  /** The id of the last item that the client has. */
  after: string | undefined;
}

/** @throws {QueryError} `invalid_query` */
export function itemPageOf({ limit = '20', order = 'desc', after }: Record<string, unknown>): ItemPage {
  const count = /^\d{1,3}$/.test(String(limit)) ? Number(limit) : 0;
  if (count < 1 || count > 100)
    throw new QueryError('invalid_query', 'The parameter "limit" must be a whole number from 1 to 100.');
  if (order !== 'asc' && order !== 'desc')
    throw new QueryError('invalid_query', 'The parameter "order" must be asc or desc.');
  if (after !== undefined && typeof after !== 'string')
    throw new QueryError('invalid_query', 'The parameter "after" must be the id of an item.');
  return { limit: count, isAscending: order === 'asc', after };
}

/** A page of items. @param all the oldest first */
export async function listOf(all: AsyncIterable<Item> | Iterable<Item>, page: ItemPage) {
  const { limit, isAscending, after } = page;
  const data: Item[] = [];
  let length = 0;
  let isBehind = after === undefined;
  let hasMore = false;
  for await (const item of all) {
    if (!isAscending && item.id === after) break;
    if (isBehind || !isAscending) {
      data.push(item);
      length += heldLength(item);
    }
    if (item.id === after) isBehind = true;
    while (data.length > limit || (length > PAGE_LENGTH && data.length > 1)) {
      hasMore = true;
      // Of the newest items, the oldest are not needed.
      length -= heldLength(isAscending ? data.pop() : data.shift());
    }
    if (isAscending && hasMore) break;
  }
  const shown = isAscending ? data : data.reverse();
  return {
    object: 'list',
    data: shown,
    first_id: shown[0]?.id ?? null,
    last_id: shown.at(-1)?.id ?? null,
    has_more: hasMore,
  };
}
