import { invalidRequest } from '../refusals.js';
import type { SentPart } from './content.js';

/** A message of a request, or what stands for one of the assistant, such as a call and its result. */
export interface SentMessage {
  /** `instructions` of the roles `system` and `developer`. */
  role: 'user' | 'assistant' | 'instructions';
  parts: SentPart[];
}

/** What of a request is the query, and what is before it. */
export interface SentConversation<Message extends SentMessage = SentMessage> {
  /** Of the last messages of the user. */
  parts: SentPart[];
  /** The messages before, without instructions. */
  before: Message[];
  instructions: string[];
}

/** What comes with a query. */
export interface SentAlong {
  /** Files of earlier messages, and the parts of the query. */
  parts: SentPart[];
  earlier: { from: 'user' | 'assistant'; text: string }[];
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
 * The messages of the user after all others are the query.
 *
 * @param pointer to the messages
 * @throws {QueryError} `invalid_query`: the last message is not of the user
 */
export function conversationOf<Message extends SentMessage>(
  messages: Message[],
  pointer: string,
): SentConversation<Message> {
  const said = messages.filter(({ role }) => role !== 'instructions');
  const last = said.findLastIndex(({ role }) => role !== 'user');
  const parts = said.slice(last + 1).flatMap((message) => message.parts);
  if (parts.length === 0) throw invalidRequest(pointer, 'must end with a message of the role "user"');
  return {
    parts,
    before: said.slice(0, last + 1),
    instructions: messages
      .filter(({ role }) => role === 'instructions')
      .map((message) => textOf(message.parts)),
  };
}

/**
 * An earlier conversation consists of texts: files of earlier messages come with the query, before its own parts.
 *
 * @param known how many of the messages before the query the session has
 */
export function sentAlong({ parts, before }: SentConversation, known = 0): SentAlong {
  const unknown = before.slice(known);
  const files = unknown.flatMap((message) => message.parts.filter(({ type }) => type === 'file'));
  const earlier = unknown.map(({ role, parts }) => ({
    from: role as 'user' | 'assistant',
    text: textOf(parts),
  }));
  return { parts: [...files, ...parts], earlier: earlier.filter(({ text }) => text !== '') };
}

function textOf(parts: SentPart[]): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}
