import { isObject } from '../../view/json.js';
import type { Face } from '../face.js';
import type { Task } from '../tasks/task.js';

type Json = Record<string, unknown>;

/** The metadata of a data part whose data is no object: 0.3 has only objects. The official libraries have the same name. */
export const WRAPPED = 'data_part_compat';

/** @param part of 1.0 */
export function partOf(part: Json): Json {
  if (part['text'] !== undefined) return { kind: 'text', text: part['text'] };
  if (part['url'] !== undefined)
    return { kind: 'file', file: { uri: part['url'], name: part['filename'], mimeType: part['mediaType'] } };
  const { data } = part;
  if (isObject(data)) return { kind: 'data', data };
  return { kind: 'data', data: { value: data }, metadata: { [WRAPPED]: true } };
}

/** @param status of 1.0 */
export const statusOf: Face['status'] = ({ state, message, ...status }) => ({
  // `TASK_STATE_INPUT_REQUIRED` is `input-required`.
  state: state.slice('TASK_STATE_'.length).toLowerCase().replace('_', '-'),
  ...(message && { message: messageOf(message) }),
  ...status,
});

/** @param task of 1.0, whose artifacts are those of 0.3 */
export function taskOf({ status, history, ...task }: Task): Json {
  return {
    kind: 'task',
    ...task,
    status: statusOf(status),
    ...(history && { history: history.map(messageOf) }),
  };
}

function messageOf({ role, parts, ...message }: Json): Json {
  return {
    kind: 'message',
    ...message,
    role: role === 'ROLE_USER' ? 'user' : 'agent',
    parts: (parts as Json[]).map(partOf),
  };
}
