import type { placesOf } from 'nest-agent-query/protocol';
import type { RefusalForm } from '../view/view.js';
import { detailsOf } from './error-details.js';
import { RPC_PLACES } from './message/parts.js';
import type { Task } from './tasks/task.js';

type Json = Record<string, unknown>;

/** A status of a task. */
interface StatusJson {
  state: string;
  message?: Json;
  timestamp?: string;
}

/**
 * How a version of A2A writes what the service has. Tasks, statuses and parts are the objects of 1.0 everywhere else, but for the
 * artifacts of a task, which are JSON already.
 */
export interface Face {
  /** Where the body of a call of JSON-RPC has texts and files. */
  places: ReturnType<typeof placesOf>;
  /** What a part with a text is before its text, as JSON. After the text comes `}`. */
  textHead: string;
  part: (part: object) => object;
  status: (status: StatusJson) => StatusJson;
  task: (task: Task) => object;
  /** A task as the answer to a message, and as an event of a stream. */
  sent: (task: Task) => object;
  /** What is before the members of an event and after them, as JSON. */
  events: Record<'statusUpdate' | 'artifactUpdate', readonly [string, string]>;
  /** What a status update says besides, as JSON members. @param isLast whether the stream ends with it */
  more: (isLast: boolean) => string;
  /** Whether a stream says of each text that it is complete. */
  completesTexts: boolean;
  /** Whether a subscription to a task that has ended has the task, and is not refused. */
  showsEnded: boolean;
  /** Whether a call of JSON-RPC must have an id. */
  needsId: boolean;
  /** The operation of a call of JSON-RPC, and its parameters as 1.0 has them. @throws {QueryError} a refusal */
  operationOf: (method: string, params: Json) => { name: string; params: Json };
  /** The statuses of refusals that JSON-RPC answers with 200. */
  statuses: readonly number[];
  /** The methods of JSON-RPC whose refusals with the status 200 are events of a stream. */
  streams: readonly string[];
  /** The sentence of an error of JSON-RPC. */
  message: (detail: string) => string;
  /** The `data` of an error of JSON-RPC. */
  errorData: (problem: Parameters<RefusalForm>[0]) => unknown;
}

/** A2A 1.0. */
export const V1_0: Face = {
  places: RPC_PLACES,
  textHead: '{"text":',
  part: (part) => part,
  status: (status) => status,
  task: (task) => task,
  sent: (task) => ({ task }),
  events: { statusUpdate: ['{"statusUpdate":{', '}}'], artifactUpdate: ['{"artifactUpdate":{', '}}'] },
  more: () => '',
  completesTexts: false,
  showsEnded: false,
  needsId: true,
  operationOf: (name, params) => ({ name, params }),
  statuses: [400, 404],
  streams: [],
  message: (detail) => detail,
  errorData: (problem) => detailsOf(problem, '/params'),
};
