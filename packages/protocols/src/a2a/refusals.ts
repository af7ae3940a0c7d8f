import { QueryError } from 'nest-agent-query';

/** An error of A2A 1.0 (§5.4), by the code of the refusal that it stands for. */
interface A2aError {
  /** The code in JSON-RPC. */
  code: number;
  /** The name in `google.rpc.ErrorInfo`; undefined for errors of JSON-RPC itself. */
  reason?: string;
  /** The name in `google.rpc.Code`. */
  status: string;
}

const ERRORS: Record<string, A2aError> = {
  not_found: { code: -32001, reason: 'TASK_NOT_FOUND', status: 'NOT_FOUND' },
  task_not_cancelable: { code: -32002, reason: 'TASK_NOT_CANCELABLE', status: 'FAILED_PRECONDITION' },
  push_notification_not_supported: {
    code: -32003,
    reason: 'PUSH_NOTIFICATION_NOT_SUPPORTED',
    status: 'FAILED_PRECONDITION',
  },
  unsupported_operation: { code: -32004, reason: 'UNSUPPORTED_OPERATION', status: 'FAILED_PRECONDITION' },
  content_type_not_supported: {
    code: -32005,
    reason: 'CONTENT_TYPE_NOT_SUPPORTED',
    status: 'INVALID_ARGUMENT',
  },
  extended_card_not_configured: {
    code: -32007,
    reason: 'EXTENDED_AGENT_CARD_NOT_CONFIGURED',
    status: 'FAILED_PRECONDITION',
  },
  version_not_supported: { code: -32009, reason: 'VERSION_NOT_SUPPORTED', status: 'FAILED_PRECONDITION' },
  invalid_json: { code: -32700, status: 'INVALID_ARGUMENT' },
  invalid_request: { code: -32600, status: 'INVALID_ARGUMENT' },
  unknown_method: { code: -32601, status: 'NOT_FOUND' },
  invalid_query: { code: -32602, status: 'INVALID_ARGUMENT' },
  invalid_answer: { code: -32602, status: 'INVALID_ARGUMENT' },
  internal: { code: -32603, status: 'INTERNAL' },
};

/** What a server may define itself (JSON-RPC 2.0 §5.1). */
const SERVER_ERROR = -32000;

/** By the status of a response: what `google.rpc.Code` calls a refusal that A2A has no error for. */
const STATUSES: Record<number, string> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  408: 'DEADLINE_EXCEEDED',
  409: 'ABORTED',
  410: 'FAILED_PRECONDITION',
  413: 'RESOURCE_EXHAUSTED',
  422: 'ALREADY_EXISTS',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
  507: 'RESOURCE_EXHAUSTED',
};

/** @param httpStatus that of the refusal */
export function errorOf(code: string, httpStatus: number): A2aError {
  if (Object.hasOwn(ERRORS, code)) return ERRORS[code]!;
  const status = STATUSES[httpStatus] ?? (httpStatus < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL');
  return { code: SERVER_ERROR, status };
}

export function taskNotFound(): QueryError {
  return new QueryError('not_found', 'There is no such task, or it is no longer kept.');
}

/** @param state as the version of the caller names it */
export function taskNotCancelable(state: string): QueryError {
  return refusal('task_not_cancelable', `The task cannot be cancelled: its state is ${state}.`);
}

export function pushNotSupported(): QueryError {
  return refusal(
    'push_notification_not_supported',
    'Push notifications are not supported. Subscribe to the task, or get it again later.',
  );
}

export function unsupportedOperation(detail: string): QueryError {
  return refusal('unsupported_operation', detail);
}

/** @param modes what the agent takes */
export function contentTypeNotSupported(mediaType: string, modes: readonly string[]): QueryError {
  const detail = `This agent does not take ${JSON.stringify(mediaType)}. It takes ${modes.join(', ')}.`;
  return refusal('content_type_not_supported', detail);
}

/** @param version as the request has it */
export function versionNotSupported(version: string): QueryError {
  const named = JSON.stringify(version.slice(0, 20));
  const detail = `This agent speaks A2A 1.0 and 0.3. The request names ${named}: send the header A2A-Version: 1.0, or none for 0.3.`;
  return refusal('version_not_supported', detail);
}

/** An operation of A2A 1.0, in a request that is one of 0.3. */
export function needsV1_0(): QueryError {
  const detail =
    'This is an operation of A2A 1.0, and a request that names no version is one of 0.3: send the header A2A-Version: 1.0.';
  return refusal('version_not_supported', detail);
}

export function extendedCardNotConfigured(): QueryError {
  return refusal('extended_card_not_configured', NO_EXTENDED_CARD);
}

export const NO_EXTENDED_CARD = 'This agent has no other card than its public one.';

/** @param version whose method it would be @param example one that there is */
export function noSuchMethod(method: string, version: string, example: string): QueryError {
  const name = JSON.stringify(method.slice(0, 100));
  return unknownMethod(`There is no method ${name} in ${version}. Use one such as ${example}.`);
}

/** A body that is no request of JSON-RPC 2.0. */
export function invalidRequest(detail: string): QueryError {
  return refusal('invalid_request', detail);
}

export function unknownMethod(detail: string): QueryError {
  return refusal('unknown_method', detail, 404);
}

function refusal(code: string, detail: string, status = 400): QueryError {
  return new QueryError(code, detail, { status });
}
