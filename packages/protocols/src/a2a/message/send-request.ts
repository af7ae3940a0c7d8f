import type { FieldError } from 'nest-agent-query';
import { invalidQuery } from 'nest-agent-query/protocol';
import { isObject } from '../../view/json.js';
import { pushNotSupported } from '../refusals.js';
import { Members } from './members.js';

type Json = Record<string, unknown>;

/** The member of the metadata of a message or a request that is the metadata of the query: see `Query.metadata`. */
const QUERY_METADATA = 'nest-agent-query:metadata';

/** Names are kept with runs, as metadata and as sessions. */
const NAME_LENGTH = 255;

/** What a message is sent with (`SendMessageRequest`), as far as it is used. */
export interface SendRequest {
  messageId: string;
  contextId: string | undefined;
  taskId: string | undefined;
  parts: unknown[];
  /** Of the request, and of the message. */
  kwargs: Json;
  /** See `Query.metadata`. */
  metadata: unknown;
  historyLength: number | undefined;
  returnsAtOnce: boolean;
}

/** @throws {QueryError} `invalid_query` with every fault · `push_notification_not_supported` */
export function sendRequestOf(params: unknown): SendRequest {
  if (!isObject(params)) throw invalidQuery([{ pointer: '', detail: 'must be an object with a "message"' }]);
  const faults: FieldError[] = [];
  const request = new Members(params, '', faults);
  const message = request.members('message');
  const configuration = request.members('configuration');
  const { [QUERY_METADATA]: metadata, ...kwargs } = {
    ...request.json('metadata'),
    ...message.json('metadata'),
  };
  const messageId = message.text('messageId', NAME_LENGTH);
  if (messageId === undefined && !faults.some(({ pointer }) => pointer === '/message/messageId'))
    message.fault('messageId', 'must be present: a string that names the message');
  const given = isObject(params['message']) ? params['message'] : {};
  if (given['role'] !== 'ROLE_USER') message.fault('role', 'must be "ROLE_USER"');
  const { parts } = given;
  if (!Array.isArray(parts) || parts.length === 0)
    message.fault('parts', 'must be an array with at least one part');
  const read = {
    contextId: message.text('contextId', NAME_LENGTH),
    taskId: message.text('taskId', NAME_LENGTH),
    historyLength: configuration.whole('historyLength', [0, Number.MAX_SAFE_INTEGER]),
    returnsAtOnce: configuration.flag('returnImmediately') ?? false,
  };
  const push = configuration.json('taskPushNotificationConfig');
  if (faults.length > 0) throw invalidQuery(faults);
  if (push !== undefined) throw pushNotSupported();
  return { messageId: messageId!, parts: parts as unknown[], kwargs, metadata, ...read };
}
