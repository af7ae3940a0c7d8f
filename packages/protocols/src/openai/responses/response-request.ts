import { placesOf } from 'nest-agent-query/protocol';
import { isObject } from '../../view/json.js';
import { invalidRequest } from '../refusals.js';
import { contentPlaces } from '../request/content.js';
import { conversationOf, type SentConversation } from '../request/conversation.js';
import { isStructured, kwargsOf } from '../request/kwargs.js';
import { flagOf, textOf } from '../request/members.js';
import { type Input, type InputItem, inputOf } from './input-items.js';

type Members = Record<string, unknown>;

/** Where the body of `POST responses` has texts and files. */
export const RESPONSE_PLACES = placesOf({
  input: 'text',
  instructions: 'text',
  ...contentPlaces('input.*.content'),
});

/** The body of `POST responses`. */
export interface ResponseRequest extends Input {
  body: Members;
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
  { body, items }: ResponseRequest,
  model: string,
): SentConversation<InputItem> & { kwargs: Members } {
  const conversation = conversationOf(items, '/input');
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
