import type { SessionPage, SessionView } from 'nest-agent-query-client';
import { sessionNotFound } from '../contract/refusals.js';
import type { RunStore, SessionRecord } from '../ports/run-store.js';
import { MAX_TURNS_LENGTH } from './one/query-context.js';
import { timeText } from './run-view.js';

export function sessionViewOf({ id, title, turns, usedAt, active, asking }: SessionRecord): SessionView {
  return {
    id,
    title: title ?? null,
    turns,
    updatedAt: timeText(usedAt),
    active: active ?? null,
    asking: asking ?? null,
  };
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
    asking: queue.find(({ status }) => status === 'input_required')?.id ?? null,
    waiting: queue.filter(({ status }) => status === 'waiting').length,
    turns: page.turns,
    next: page.last < page.total ? page.last : null,
  };
}
