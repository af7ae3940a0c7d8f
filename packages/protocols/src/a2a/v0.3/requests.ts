import { QueryError, type FieldError } from 'nest-agent-query';
import { invalidQuery, placesOf } from 'nest-agent-query/protocol';
import { isObject } from '../../view/json.js';
import { sendRequestOf } from '../message/send-request.js';
import { WRAPPED } from './objects.js';

type Json = Record<string, unknown>;

/** Where a message has texts and files. */
export const PLACES = placesOf({
  'params.message.parts.*.text': 'text',
  'params.message.parts.*.file.bytes': 'base64',
});

/**
 * The parameters of `message/send` as those of `SendMessage` of 1.0.
 *
 * @throws {QueryError} `invalid_query` with every fault, also those that 1.0 has too
 */
export function sendParamsOf(params: Json): Json {
  const faults: FieldError[] = [];
  const { message, configuration } = params;
  if (!isObject(message))
    throw invalidQuery([
      { pointer: '/message', detail: 'must be an object with "messageId", "role" and "parts"' },
    ]);
  const mapped = {
    ...params,
    message: messageOf(message, faults),
    ...(isObject(configuration) && { configuration: configurationOf(configuration, faults) }),
  };
  if (faults.length > 0) throw invalidQuery([...faults, ...faultsOf(mapped)]);
  return mapped;
}

/** Where the parameters of 0.3 have what those of 1.0 have at a JSON Pointer. */
export function placeOf(pointer: string): string {
  const [, parts, member = ''] = /^(.*\/message\/parts\/\d+)\/(raw|filename|mediaType)$/.exec(pointer) ?? [];
  if (parts !== undefined) return `${parts}/file/${FILE_MEMBERS[member]}`;
  return pointer.replace(/\/taskPushNotificationConfig(?=\/|$)/, '/pushNotificationConfig');
}

const FILE_MEMBERS: Record<string, string> = { raw: 'bytes', filename: 'name', mediaType: 'mimeType' };

function messageOf(message: Json, faults: FieldError[]): Json {
  const { kind, role, parts } = message;
  if (kind !== undefined && kind !== 'message')
    faults.push({ pointer: '/message/kind', detail: 'must be "message"' });
  if (role !== 'user') faults.push({ pointer: '/message/role', detail: 'must be "user"' });
  return {
    ...message,
    role: 'ROLE_USER',
    parts: Array.isArray(parts) ? parts.map((part, index) => partOf(part, index, faults)) : parts,
  };
}

/** A part as 1.0 has it. What is wrong with its content is told where the query is made of it. */
function partOf(part: unknown, index: number, faults: FieldError[]): Json {
  const fault = (member: string, detail: string): Json => {
    faults.push({ pointer: `/message/parts/${index}${member}`, detail });
    return { text: '' };
  };
  if (!isObject(part)) return fault('', 'must be an object with a "kind"');
  const { kind, text, file, data, metadata } = part;
  if (kind === 'text') return typeof text === 'string' ? { text } : fault('/text', 'must be a string');
  if (kind === 'data') {
    if (!isObject(data)) return fault('/data', 'must be an object');
    const isWrapped = isObject(metadata) && metadata[WRAPPED] === true && Object.hasOwn(data, 'value');
    return { data: isWrapped ? data['value'] : data };
  }
  if (kind !== 'file') return fault('/kind', 'must be "text", "file" or "data"');
  if (!isObject(file)) return fault('/file', 'must be an object with "bytes"');
  const { bytes, uri, name, mimeType } = file;
  if (bytes !== undefined && bytes !== null) return { raw: bytes, filename: name, mediaType: mimeType };
  if (uri === undefined) return fault('/file/bytes', 'must be present: the content of the file as base64');
  return fault('/file/uri', 'cannot be fetched by this service: send the content of the file in "bytes"');
}

function configurationOf(configuration: Json, faults: FieldError[]): Json {
  const { blocking, pushNotificationConfig, ...others } = configuration;
  if (typeof (blocking ?? true) !== 'boolean')
    faults.push({ pointer: '/configuration/blocking', detail: 'must be true or false' });
  return {
    ...others,
    returnImmediately: blocking === false,
    taskPushNotificationConfig: pushNotificationConfig,
  };
}

/** The faults that the request has for 1.0 too. */
function faultsOf(params: Json): FieldError[] {
  try {
    sendRequestOf(params);
    return [];
  } catch (error) {
    return error instanceof QueryError ? (error.extras.errors ?? []) : [];
  }
}
