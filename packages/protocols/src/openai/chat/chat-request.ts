import { placesOf } from 'nest-agent-query/protocol';
import { isObject } from '../../view/json.js';
import type { GivenAnswer } from '../asking/asked-calls.js';
import { invalidRequest } from '../refusals.js';
import { contentOf, contentPlaces } from '../request/content.js';
import { conversationOf, roleOf, type SentConversation, type SentMessage } from '../request/conversation.js';
import { functionNames, isStructured, kwargsOf } from '../request/kwargs.js';
import { flagOf, textOf } from '../request/members.js';

type Members = Record<string, unknown>;

/** Where the body of `POST chat/completions` has texts and files. */
export const CHAT_PLACES = placesOf(contentPlaces('messages.*.content'));

/** The body of `POST chat/completions`. */
export interface ChatRequest {
  body: Members;
  messages: SentMessage[];
  /** The messages of the role `tool` after the last other one. */
  answers: GivenAnswer[];
  /** The names of the functions that the client executes. */
  functions: string[];
  isStream: boolean;
  includesUsage: boolean;
  isStructured: boolean;
}

const functionOf = (tool: Members): unknown => tool['function'];

/** @throws {QueryError} `invalid_query` */
export function chatRequest(body: unknown): ChatRequest {
  if (!isObject(body)) throw invalidRequest('', 'must be an object');
  const { messages: sent, n = 1, stream_options: options } = body;
  if (!Array.isArray(sent)) throw invalidRequest('/messages', 'must be an array of messages');
  if (n !== 1 && n !== null) throw invalidRequest('/n', 'must be 1: an agent gives one answer');
  const messages: SentMessage[] = [];
  let answers: GivenAnswer[] = [];
  for (const [index, message] of (sent as unknown[]).entries()) {
    const pointer = `/messages/${index}`;
    if (!isObject(message)) throw invalidRequest(pointer, 'must be an object');
    if (message['role'] === 'tool') answers.push(answerOf(message, pointer));
    else {
      answers = [];
      const parts = contentOf(message['content'], `${pointer}/content`);
      messages.push({ role: roleOf(message['role'], pointer), parts });
    }
  }
  return {
    ...{ body, messages, answers },
    functions: functionNames(body, functionOf),
    isStream: flagOf(body, 'stream', false),
    includesUsage: isObject(options) && options['include_usage'] === true,
    isStructured: isStructured(body['response_format']),
  };
}

/** @throws {QueryError} `invalid_query` */
export function chatQuery(
  { body, messages }: ChatRequest,
  model: string,
): SentConversation & { kwargs: Members } {
  const conversation = conversationOf(messages, '/messages');
  const { response_format: format, reasoning_effort: effort } = body;
  const { json_schema: schema } = (format ?? {}) as Members;
  const members = {
    instructions: conversation.instructions,
    maxOutputTokens: body['max_completion_tokens'] ?? body['max_tokens'],
    format: isObject(schema) ? { type: 'json_schema', ...schema } : format,
    functionOf,
  };
  const reasoning = typeof effort === 'string' ? { reasoning: { effort } } : {};
  return { ...conversation, kwargs: kwargsOf({ ...body, ...reasoning }, members, model) };
}

function answerOf(message: Members, pointer: string): GivenAnswer {
  const id = textOf(message, 'tool_call_id', pointer);
  if (id === undefined) throw invalidRequest(`${pointer}/tool_call_id`, 'must be present');
  const parts = contentOf(message['content'], `${pointer}/content`);
  const output = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return { id, output, pointer: `${pointer}/tool_call_id` };
}
