import { type Envelope, log } from 'nest-agent-query';
import { textIn } from './members.js';

const TEXT_LENGTH = 2_000;

/** What the agent says about its own work. Any other update tells callers nothing. */
export function noteOf({ sessionUpdate, title, status }: Record<string, unknown>): Envelope[] {
  const text = textIn(title);
  if (sessionUpdate === 'notice') return text === undefined ? [] : [log(text.slice(0, TEXT_LENGTH))];
  if (sessionUpdate !== 'compaction_update') return [];
  if (status === 'completed') return [log('The agent has shortened its memory of the conversation.')];
  return status === 'failed' ? [log('The agent could not shorten its memory of the conversation.')] : [];
}
