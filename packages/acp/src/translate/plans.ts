import type { Envelope } from 'nest-agent-query';
import { itemsOf, membersOf, textIn } from './members.js';

const ENTRIES = 200;
const TEXT_LENGTH = 2_000;
const STATES = ['pending', 'in_progress', 'completed'];
const PRIORITIES = ['high', 'medium', 'low'];

/** The whole plan of the agent, as it is now. Entries without a text are left out. */
export function planOf({ entries }: Record<string, unknown>): Envelope[] {
  if (!Array.isArray(entries)) return [];
  const shown = itemsOf(entries, ENTRIES).flatMap((entry) => {
    const { content, status, priority } = membersOf(entry);
    const text = textIn(content)?.slice(0, TEXT_LENGTH);
    if (text === undefined) return [];
    const state = STATES.includes(status as string) ? status : 'pending';
    return [{ content: text, status: state, ...(PRIORITIES.includes(priority as string) && { priority }) }];
  });
  return [{ type: 'plan', data: { entries: shown } }];
}
