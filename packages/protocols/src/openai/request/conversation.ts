import { invalidRequest } from '../refusals.js';
import type { SentPart } from './content.js';

/** A message of a request. */
export interface SentMessage {
  /** `instructions` of the roles `system` and `developer`. */
  role: 'user' | 'assistant' | 'instructions';
  parts: SentPart[];
}

/** What of a request is the query, and what is before it. */
export interface SentConversation {
  parts: SentPart[];
  earlier: { from: 'user' | 'assistant'; text: string }[];
  instructions: string[];
}

const ROLES: Record<string, SentMessage['role']> = {
  user: 'user',
  assistant: 'assistant',
  system: 'instructions',
  developer: 'instructions',
};

/** @throws {QueryError} `invalid_query` */
export function roleOf(role: unknown, pointer: string): SentMessage['role'] {
  if (typeof role === 'string' && Object.hasOwn(ROLES, role)) return ROLES[role]!;
  throw invalidRequest(`${pointer}/role`, `must be one of ${Object.keys(ROLES).join(', ')}`);
}

/**
 * The last messages of the user are the query. An earlier conversation consists of texts: files of earlier messages come with the
 * query, before its own parts.
 *
 * @param pointer to the messages
 * @throws {QueryError} `invalid_query`: the last message is not of the user
 */
export function conversationOf(messages: SentMessage[], pointer: string): SentConversation {
  const said = messages.filter(({ role }) => role !== 'instructions');
  const last = said.findLastIndex(({ role }) => role !== 'user');
  const [before, own] = [said.slice(0, last + 1), said.slice(last + 1)];
  const parts = own.flatMap((message) => message.parts);
  if (parts.length === 0) throw invalidRequest(pointer, 'must end with a message of the role "user"');
  const files = before.flatMap((message) => message.parts.filter(({ type }) => type === 'file'));
  const earlier = before.map(({ role, parts }) => ({
    from: role as 'user' | 'assistant',
    text: textOf(parts),
  }));
  return {
    parts: [...files, ...parts],
    earlier: earlier.filter(({ text }) => text !== ''),
    instructions: messages
      .filter(({ role }) => role === 'instructions')
      .map((message) => textOf(message.parts)),
  };
}

function textOf(parts: SentPart[]): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}
