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
  /** The messages of the role `tool` after the last one of the user or the assistant. */
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
  const messages = (sent as unknown[]).map((message, index) => messageOf(message, `/messages/${index}`));
  const said = messages.findLastIndex(({ role, isResult }) => role !== 'instructions' && !isResult);
  const answers = messages.slice(said + 1).flatMap((message, index) => {
    const { isResult, answer } = message;
    if (!isResult) return [];
    if (answer) return answer;
    throw invalidRequest(`/messages/${said + 1 + index}/role`, 'must be "tool", with the id of the call');
  });
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

interface ChatMessage extends SentMessage {
  /** Whether it is the result of a call. */
  isResult?: true;
  /** Of a role that names the call. */
  answer?: GivenAnswer;
}

function messageOf(message: unknown, pointer: string): ChatMessage {
  if (!isObject(message)) throw invalidRequest(pointer, 'must be an object');
  const { role, refusal } = message;
  // A result is of the past, as the call is.
  const result: ChatMessage = { role: 'assistant', parts: [], isResult: true };
  if (role === 'tool') return { ...result, answer: answerOf(message, pointer) };
  if (role === 'function') return result;
  const parts = contentOf(message['content'], `${pointer}/content`);
  const isRefusal = role === 'assistant' && parts.length === 0 && typeof refusal === 'string';
  if (isRefusal) parts.push({ type: 'text', text: refusal, pointer: `${pointer}/refusal` });
  return { role: roleOf(role, pointer), parts };
}

function answerOf(message: Members, pointer: string): GivenAnswer {
  const id = textOf(message, 'tool_call_id', pointer);
  if (id === undefined) throw invalidRequest(`${pointer}/tool_call_id`, 'must be present');
  const parts = contentOf(message['content'], `${pointer}/content`);
  const output = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return { id, output, pointer: `${pointer}/tool_call_id` };
}
