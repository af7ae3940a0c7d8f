import type { EarlierText, QueryError } from 'nest-agent-query';
import { type BodyPlace, DataUrl, invalidQuery, type MadeQuery, placesOf } from 'nest-agent-query/protocol';
import { digestOf, isObject } from '../view/json.js';
import { digestIn } from '../view/known-file.js';
import { runIdOf } from './message-id.js';

/** Where the body of a chat has files and texts. */
export const PLACES: BodyPlace = placesOf({
  'messages.*.parts.*.url': 'dataUrl',
  'messages.*.parts.*.text': 'text',
});

const TRIGGERS = ['submit-message', 'regenerate-message'];

/** A part of a message. Which members it has depends on its type. */
export type Part = Record<string, unknown>;

/** A message, as far as it is read. */
export interface Message {
  id: string | undefined;
  role: string;
  parts: Part[];
}

/** What a client of the AI SDK sends. */
export interface ChatRequest {
  /** The session; undefined if the client names none. */
  chatId: string | undefined;
  /** Whether the message replaces the turn that it led to before, and those after it. */
  replaces: boolean;
  /** The message that the client names: one that it edits, regenerates or goes on with. */
  messageId: string | undefined;
  /** Whether the messages are all that the page shows. Such a client edits without naming the message. */
  isWhole: boolean;
  messages: Message[];
  /** The one that the request is about: a question, or a message of the agent with answers to what the run has asked. */
  message: Message;
  /** The JSON Pointer of that. */
  pointer: string;
  kwargs: unknown;
  /** What tells requests apart, for their idempotency key; undefined if the messages have no ids. */
  identity: unknown[] | undefined;
}

/** @throws {QueryError} `invalid_query` */
export function chatRequestOf(body: unknown): ChatRequest {
  const read = objectAt('', body);
  const { id, messages: given, trigger = TRIGGERS[0], messageId, kwargs } = read;
  if (!Array.isArray(given) || given.length === 0)
    throw refused('/messages', 'must be an array of at least one message');
  if (!TRIGGERS.includes(trigger as string))
    throw refused('/trigger', `must be one of ${TRIGGERS.map((each) => `"${each}"`).join(' and ')}`);
  const messages = given.map((each, index) => messageAt(`/messages/${index}`, each));
  const isRegenerated = trigger === TRIGGERS[1];
  const named = textAt('/messageId', messageId);
  // With `sendMessage()`, a client goes on with an earlier message.
  const mayGoOn = !isRegenerated && named !== undefined;
  const continued = mayGoOn ? messages.findIndex((each) => isOfAgent(each) && each.id === named) : -1;
  const index = continued < 0 ? messages.length - 1 : continued;
  const message = messages[index]!;
  const pointer = `/messages/${index}`;
  if (message.role !== 'user' && (isRegenerated || !isOfAgent(message)))
    throw refused(`${pointer}/role`, 'must be "user": the last message is the one that is answered');
  const chatId = textAt('/id', id) || undefined;
  const ids = messages.map((each) => each.id);
  return {
    chatId,
    replaces: isRegenerated || (named !== undefined && named === message.id),
    messageId: named,
    // The transport of assistant-ui sends both, and the whole conversation. Its tools are descriptions, no switches of a page.
    isWhole:
      isObject(read['tools']) && Object.values(read['tools']).every(isObject) && isObject(read['metadata']),
    messages,
    message,
    pointer,
    kwargs,
    identity: message.id === undefined ? undefined : [chatId, trigger, named, ids],
  };
}

export function isOfAgent({ role }: Message): boolean {
  return role === 'assistant';
}

/** The run that a client wants to stop; undefined if it names none. @throws {QueryError} `invalid_query` */
export function stoppedRunOf(body: unknown): string | undefined {
  const { activeStreamId, assistantMessage } = objectAt('', body);
  const stream = textAt('/activeStreamId', activeStreamId);
  if (stream !== undefined) return stream.split('.')[0];
  const { id } = objectAt('/assistantMessage', assistantMessage ?? {});
  return runIdOf(textAt('/assistantMessage/id', id));
}

/** The query that the last message of a chat is. */
export function queryOf({ message, pointer, kwargs, chatId }: ChatRequest): Relocated {
  const parts: MadeQuery['parts'] = [];
  const indexes: number[] = [];
  for (const [index, part] of message.parts.entries()) {
    const made = queryPartAt(`${pointer}/parts/${index}`, part);
    if (made && parts.push(made)) indexes.push(index);
  }
  const own = kwargs ?? {};
  const withSession = isObject(own) && chatId !== undefined ? { ...own, session_id: chatId } : own;
  return {
    query: { parts, kwargs: withSession as MadeQuery['kwargs'] },
    pointerOf: (of) =>
      of.replace(/^\/parts(?:\/(\d+)(?:\/(\w+))?)?/, (_, index?: string, member?: string) => {
        const at = index === undefined ? '' : `/${indexes[Number(index)]}`;
        return `${pointer}/parts${at}${member === undefined ? '' : `/${MEMBERS[member] ?? member}`}`;
      }),
  };
}

interface Relocated {
  query: MadeQuery;
  /** Where the body has what the query has at a JSON Pointer. */
  pointerOf: (pointer: string) => string;
}

/** What the members of a part of a query are in a part of a message. */
const MEMBERS: Record<string, string> = {
  base64: 'url',
  sha256: 'url',
  name: 'filename',
  mimeType: 'mediaType',
};

/** A part of another type is for the client alone. */
function queryPartAt(pointer: string, { type, text, url, mediaType, filename }: Part) {
  if (type === 'text' && typeof text !== 'string') throw refused(`${pointer}/text`, 'must be a string');
  if (type === 'text') return { type, text: text as string } as const;
  if (type !== 'file') return undefined;
  const name = (filename ?? 'file') as string;
  const sha256 = digestIn(url);
  if (sha256 !== undefined) return { type, name, mimeType: mediaType as string, sha256 } as const;
  if (!(url instanceof DataUrl))
    throw refused(`${pointer}/url`, 'must be a data: URL with base64, or the URL of a file of this chat');
  const mimeType = (mediaType ?? url.mimeType) as string;
  return { type, name, mimeType, base64: url.content } as const;
}

/** The texts of messages, as a conversation before the query. */
export function earlierTexts(messages: readonly Message[]): EarlierText[] {
  return messages.flatMap(({ role, parts }): EarlierText[] => {
    if (role !== 'user' && role !== 'assistant') return [];
    const texts = parts.filter(({ type, text }) => type === 'text' && typeof text === 'string');
    const text = texts.map((part) => part['text'] as string).join('');
    return text === '' ? [] : [{ from: role, text }];
  });
}

/** @param more what tells apart requests whose identity is the same. Default: nothing */
export function keyOf(identity: unknown[], more?: string): string {
  return `ai-sdk:${digestOf([...identity, more])}`;
}

/** @throws {QueryError} `invalid_query` */
export function refused(pointer: string, detail: string): QueryError {
  return invalidQuery([{ pointer, detail }]);
}

function messageAt(pointer: string, given: unknown): Message {
  const { id, role, parts } = objectAt(pointer, given);
  if (typeof role !== 'string') throw refused(`${pointer}/role`, 'must be a string');
  if (!Array.isArray(parts)) throw refused(`${pointer}/parts`, 'must be an array of parts');
  const read = parts.map((part, index) => objectAt(`${pointer}/parts/${index}`, part));
  return { id: textAt(`${pointer}/id`, id), role, parts: read };
}

function objectAt(pointer: string, value: unknown): Record<string, unknown> {
  if (isObject(value)) return value;
  throw refused(pointer, 'must be an object');
}

function textAt(pointer: string, value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  throw refused(pointer, 'must be a string');
}
