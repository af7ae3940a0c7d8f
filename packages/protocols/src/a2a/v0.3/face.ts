import { detailsOf } from '../error-details.js';
import type { Face } from '../face.js';
import { extendedCardNotConfigured, needsV1_0, noSuchMethod } from '../refusals.js';
import { partOf, statusOf, taskOf } from './objects.js';
import { placeOf, PLACES, sendParamsOf } from './requests.js';

type Json = Record<string, unknown>;

/** The methods of A2A 0.3, and the operations of 1.0 that they are. */
const METHODS: Record<string, string> = {
  'message/send': 'SendMessage',
  'message/stream': 'SendStreamingMessage',
  'tasks/get': 'GetTask',
  'tasks/cancel': 'CancelTask',
  'tasks/resubscribe': 'SubscribeToTask',
  'tasks/pushNotificationConfig/set': 'CreateTaskPushNotificationConfig',
  'tasks/pushNotificationConfig/get': 'GetTaskPushNotificationConfig',
  'tasks/pushNotificationConfig/list': 'ListTaskPushNotificationConfigs',
  'tasks/pushNotificationConfig/delete': 'DeleteTaskPushNotificationConfig',
};

/** The methods of A2A 1.0: clients that do not name their version are told to. */
const LATER = new Set([...Object.values(METHODS), 'ListTasks', 'GetExtendedAgentCard']);

/** A2A 0.3. */
export const V0_3: Face = {
  places: PLACES,
  textHead: '{"kind":"text","text":',
  part: partOf as Face['part'],
  status: statusOf,
  task: taskOf,
  sent: taskOf,
  events: {
    statusUpdate: ['{"kind":"status-update",', '}'],
    artifactUpdate: ['{"kind":"artifact-update",', '}'],
  },
  more: (isLast) => `,"final":${isLast}`,
  // Google's ADK keeps only these.
  completesTexts: true,
  showsEnded: true,
  needsId: false,
  operationOf: (method, params) => {
    if (method === 'agent/getAuthenticatedExtendedCard') throw extendedCardNotConfigured();
    if (LATER.has(method)) throw needsV1_0();
    if (!Object.hasOwn(METHODS, method)) throw noSuchMethod(method, 'A2A 0.3', 'message/send');
    const name = METHODS[method]!;
    return { name, params: name.startsWith('Send') ? sendParamsOf(params) : params };
  },
  statuses: [400, 404, 422],
  // Who has asked for a stream reads no error of another type with the status 200.
  streams: ['message/stream', 'tasks/resubscribe'],
  message: (detail) => detail.replace(/^"([^"]+)"/, (_, pointer: string) => `"${placeOf(pointer)}"`),
  errorData: (problem) => {
    // Whoever forgets the version speaks 1.0.
    if (problem.code === 'version_not_supported') return detailsOf(problem);
    const errors = (problem.errors ?? []).map(({ pointer, detail }) => ({
      pointer: placeOf(pointer),
      detail,
    }));
    const { '@type': _, ...data } = Object.assign(
      {},
      ...detailsOf({ ...problem, errors }, '/params'),
    ) as Json;
    return data;
  },
};
