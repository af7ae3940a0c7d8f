import type { RunStatus } from 'nest-agent-query-client';
import { cursorText, positionOf } from '../contract/list-page.js';
import type { Metadata } from '../contract/metadata.js';
import { invalidParameters } from '../contract/refusals.js';
import type { ListPage, ListPosition } from '../ports/run-store.js';
import { MAX_TURNS_LENGTH } from './one/query-context.js';

/** How many entries a page has unless the caller asks for another number. */
export const PAGE_ENTRIES = 50;

/** Which page of a list. */
export interface ListOptions {
  /** How many entries the page has at most. Default 50. */
  limit?: number | undefined;
  /** `next` of the page before. Default: the first page. */
  after?: string | undefined;
}

/** Which runs, and which page of them. */
export interface RunListOptions extends ListOptions {
  /** Only runs of this session. Default: all. */
  session?: string | undefined;
  /** Only runs with this status. Default: all. */
  status?: RunStatus | undefined;
  /** Only runs that have all these entries in their metadata. Default: all. */
  metadata?: Metadata | undefined;
}

/** The members of each, for `refuseUnknown`. */
export const LIST_OPTIONS: Record<keyof ListOptions, true> = { limit: true, after: true };
export const RUN_LIST_OPTIONS: Record<keyof RunListOptions, true> = {
  ...LIST_OPTIONS,
  session: true,
  status: true,
  metadata: true,
};

/** @throws {QueryError} `invalid_query`: `after` is not the `next` of a page */
export function listPageOf({ limit = PAGE_ENTRIES, after }: ListOptions): ListPage {
  const position = after === undefined ? undefined : positionOf(after);
  if (after !== undefined && position === undefined) {
    throw invalidParameters([{ pointer: '/after', detail: 'must be "next" of the page before' }]);
  }
  return { after: position, limit, maxLength: MAX_TURNS_LENGTH };
}

export function nextOf(position: ListPosition | undefined): string | null {
  return position === undefined ? null : cursorText(position);
}
