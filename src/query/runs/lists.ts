import { cursorText, positionOf } from '../contract/list-page.js';
import { invalidParameters, sessionNotFound } from '../contract/refusals.js';
import type { RunList, RunStatus, SessionList, SessionPage } from 'nest-agent-query-client';
import type { ListPage, ListPosition, RunStore, SessionRecord } from '../ports/run-store.js';
import { MAX_TURNS_LENGTH } from './query-context.js';
import { viewOf } from './run-view.js';

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
}

export async function runList(
  store: RunStore,
  owner: string,
  { session, status, ...options }: RunListOptions,
): Promise<RunList> {
  const page = { ...pageOf(options), sessionId: session, status };
  const { runs, next } = await store.runs(owner, page);
  return { runs: runs.map(viewOf), next: cursorOf(next) };
}

export async function sessionList(
  store: RunStore,
  owner: string,
  options: ListOptions,
): Promise<SessionList> {
  const { sessions, next } = await store.sessions(owner, pageOf(options));
  return { sessions: sessions.map(sessionViewOf), next: cursorOf(next) };
}

export async function sessionPage(
  store: RunStore,
  owner: string,
  id: string,
  after: number,
  limit: number,
): Promise<SessionPage> {
  // First, so that a run that ends meanwhile is here, in the turns, or in both.
  const queue = await store.queue(owner, id);
  const page = await store.turns(owner, id, { after, limit, maxLength: MAX_TURNS_LENGTH, cutTexts: true });
  if (!page) throw sessionNotFound();
  return {
    id,
    active: queue.find(({ status }) => status === 'running')?.id ?? null,
    waiting: queue.filter(({ status }) => status === 'waiting').length,
    turns: page.turns,
    next: page.last < page.total ? page.last : null,
  };
}

function sessionViewOf({ id, title, turns, usedAt, active }: SessionRecord) {
  const updatedAt = new Date(usedAt).toISOString();
  return { id, title: title ?? null, turns, updatedAt, active: active ?? null };
}

function pageOf({ limit = PAGE_ENTRIES, after }: ListOptions): ListPage {
  const position = after === undefined ? undefined : positionOf(after);
  if (after !== undefined && position === undefined) {
    throw invalidParameters([{ pointer: '/after', detail: 'must be "next" of the page before' }]);
  }
  return { after: position, limit, maxLength: MAX_TURNS_LENGTH };
}

function cursorOf(position: ListPosition | undefined): string | null {
  return position === undefined ? null : cursorText(position);
}
