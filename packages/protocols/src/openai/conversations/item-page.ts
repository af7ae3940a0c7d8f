import { QueryError } from 'nest-agent-query';
import type { Item } from './turn-items.js';

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
export async function listOf(
  all: AsyncIterable<Item> | Iterable<Item>,
  { limit, isAscending, after }: ItemPage,
) {
  let data: Item[] = [];
  let isBehind = after === undefined;
  for await (const item of all) {
    if (!isAscending && item.id === after) break;
    if (isBehind || !isAscending) data.push(item);
    if (item.id === after) isBehind = true;
    if (isAscending && data.length > limit) break;
    // Of the newest items, no more are needed.
    if (!isAscending && data.length > limit + 1) data.shift();
  }
  if (!isAscending) data = data.reverse();
  const shown = data.slice(0, limit);
  return {
    object: 'list',
    data: shown,
    first_id: shown[0]?.id ?? null,
    last_id: shown.at(-1)?.id ?? null,
    has_more: data.length > limit,
  };
}
