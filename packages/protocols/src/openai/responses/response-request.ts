import { placesOf } from 'nest-agent-query/protocol';
import { isObject } from '../../view/json.js';
import type { GivenAnswer } from '../asking/asked-calls.js';
import { invalidRequest } from '../refusals.js';
import { contentOf, contentPlaces } from '../request/content.js';
import { conversationOf, roleOf, type SentConversation, type SentMessage } from '../request/conversation.js';
import { isStructured, kwargsOf } from '../request/kwargs.js';
import { flagOf, textOf } from '../request/members.js';

type Members = Record<string, unknown>;

/** Where the body of `POST responses` has texts and files. */
export const RESPONSE_PLACES = placesOf({
  input: 'text',
  instructions: 'text',
  ...contentPlaces('input.*.content'),
});

/** Items that a client repeats from what it was told. The log has them. */
const REPEATED = [
  'function_call',
  'reasoning',
  'mcp_call',
  'mcp_approval_request',
  'mcp_list_tools',
  'item_reference',
];

/** The body of `POST responses`. */
export interface ResponseRequest {
  body: Members;
  messages: SentMessage[];
  /** What follows the last message. */
  answers: GivenAnswer[];
  previous: string | undefined;
  conversation: string | undefined;
  isBackground: boolean;
  isStored: boolean;
  isStream: boolean;
  isStructured: boolean;
}

/** @throws {QueryError} `invalid_query` */
export function responseRequest(body: unknown): ResponseRequest {
  if (!isObject(body)) throw invalidRequest('', 'must be an object');
  const previous = textOf(body, 'previous_response_id');
  const { conversation: named } = body;
  const conversation = isObject(named) ? textOf(named, 'id', '/conversation') : textOf(body, 'conversation');
  if (previous !== undefined && conversation !== undefined)
    throw invalidRequest('/previous_response_id', 'must be absent if the request names a conversation');
  const isBackground = flagOf(body, 'background', false);
  const isStored = flagOf(body, 'store', true);
  if (isBackground && !isStored)
    throw invalidRequest('/background', 'must be false if the response is not stored: it could not be found');
  return {
    ...{ body, previous, conversation, isBackground, isStored },
    ...inputOf(body['input']),
    isStream: flagOf(body, 'stream', false),
    isStructured: isStructured(formatOf(body)),
  };
}

/** @throws {QueryError} `invalid_query` */
export function responseQuery(
  { body, messages }: ResponseRequest,
  model: string,
): SentConversation & { kwargs: Members } {
  const conversation = conversationOf(messages, '/input');
  const own = textOf(body, 'instructions') ?? '';
  const members = {
    instructions: [own, ...conversation.instructions],
    maxOutputTokens: body['max_output_tokens'],
    format: formatOf(body),
    functionOf: (tool: Members) => tool,
  };
  return { ...conversation, kwargs: kwargsOf(body, members, model) };
}

function formatOf({ text }: Members): unknown {
  return isObject(text) ? text['format'] : undefined;
}

function inputOf(input: unknown): Pick<ResponseRequest, 'messages' | 'answers'> {
  if (typeof input === 'string')
    return { messages: [{ role: 'user', parts: contentOf(input, '/input') }], answers: [] };
  if (!Array.isArray(input)) throw invalidRequest('/input', 'must be a string or an array of items');
  const messages: SentMessage[] = [];
  let answers: GivenAnswer[] = [];
  for (const [index, item] of (input as unknown[]).entries()) {
    const pointer = `/input/${index}`;
    if (!isObject(item)) throw invalidRequest(pointer, 'must be an object');
    const { type = item['role'] === undefined ? 'item_reference' : 'message' } = item;
    if (type === 'message') {
      answers = [];
      messages.push({
        role: roleOf(item['role'], pointer),
        parts: contentOf(item['content'], `${pointer}/content`),
      });
    } else if (type === 'function_call_output') answers.push(outputOf(item, pointer));
    else if (type === 'mcp_approval_response') answers.push(approvalOf(item, pointer));
    else if (!REPEATED.includes(type as string))
      throw invalidRequest(`${pointer}/type`, 'is not the type of an item that this service takes');
  }
  return { messages, answers };
}

function outputOf(item: Members, pointer: string): GivenAnswer {
  const id = textOf(item, 'call_id', pointer);
  if (id === undefined) throw invalidRequest(`${pointer}/call_id`, 'must be present');
  const { output } = item;
  if (output === undefined) throw invalidRequest(`${pointer}/output`, 'must be present');
  return { id, output, pointer: `${pointer}/call_id` };
}

function approvalOf(item: Members, pointer: string): GivenAnswer {
  const id = textOf(item, 'approval_request_id', pointer);
  if (id === undefined) throw invalidRequest(`${pointer}/approval_request_id`, 'must be present');
  const { approve } = item;
  if (typeof approve !== 'boolean') throw invalidRequest(`${pointer}/approve`, 'must be true or false');
  const reason = textOf(item, 'reason', pointer);
  const approval = { approved: approve, ...(reason !== undefined && { reason }) };
  return { id, approval, pointer: `${pointer}/approval_request_id` };
}
