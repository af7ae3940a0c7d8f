import { STATUS_CODES } from 'node:http';
import { HttpException } from '@nestjs/common';
import type { ErrorCode, ErrorExtras, HostCode } from 'nest-agent-query-client';

/**
 * Every error by its stable code, with the HTTP status that it has before a stream has begun.
 *
 * @example
 * STATUS_OF_CODE.at_capacity; // 503
 */
export const STATUS_OF_CODE = {
  invalid_json: 400,
  invalid_query: 400,
  file_missing: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  body_timeout: 408,
  session_busy: 409,
  session_exists: 409,
  invalid_answer: 400,
  input_resolved: 409,
  input_expired: 409,
  run_ended: 409,
  cursor_expired: 410,
  file_expired: 410,
  limit_exceeded: 413,
  unsupported_media_type: 415,
  unsupported_encoding: 415,
  range_not_satisfiable: 416,
  idempotency_conflict: 422,
  rate_limited: 429,
  session_full: 429,
  budget_exceeded: 429,
  refused: 400,
  internal: 500,
  at_capacity: 503,
  draining: 503,
  unavailable: 503,
  storage_full: 507,

  handler_failed: 500,
  invalid_envelope: 500,
  run_timeout: 500,
  followers_stalled: 500,
  answer_too_fast: 500,
  interrupted: 500,
} as const satisfies Record<ErrorCode, number>;

const HOST_CODE = /^[a-z][a-z0-9_]{0,63}$/;

/**
 * An error that a caller may read: a code of the closed list and a sentence that says what was wrong, where, and what to do.
 * The sentence reaches the caller unchanged. It must not contain a stack trace, a path or the text of an unexpected exception.
 *
 * If a handler throws it, the run ends as `failed` with this code and sentence. If the option `admit` throws it, the query is
 * refused with the status of the code. Hosts may use codes of their own, with a status.
 *
 * @example
 * throw new QueryError('invalid_query', 'The query needs a PDF. Send one as a file part.');
 *
 * @example
 * throw new QueryError('quota_exceeded', 'The quota is used up.', { status: 402 });
 */
export class QueryError extends Error {
  override readonly name = 'QueryError';

  /**
   * @param code what went wrong
   * @param detail the sentence for the caller
   * @param extras further members of the problem, for the codes that have them
   * @param options `cause`: what the operator's log shows besides
   * @throws {TypeError} the code is not of the closed list, and is no name in lower case or has no status
   */
  constructor(
    readonly code: ErrorCode | HostCode,
    readonly detail: string,
    readonly extras: ErrorExtras = {},
    options?: ErrorOptions,
  ) {
    super(detail, options);
    if (!Object.hasOwn(STATUS_OF_CODE, code)) checkHostCode(code, extras.status);
  }

  /** The HTTP status of the code. */
  get status(): number {
    return STATUS_OF_CODE[this.code as ErrorCode] ?? this.extras.status!;
  }
}

function checkHostCode(code: unknown, status: unknown): void {
  if (typeof code !== 'string' || !HOST_CODE.test(code)) {
    throw new TypeError(
      'The code of a QueryError must be a name of lower-case letters, digits and "_", such as quota_exceeded.',
    );
  }
  if (!Number.isInteger(status) || Number(status) < 400 || Number(status) > 599) {
    throw new TypeError(
      `The code "${code}" is not one of the package: give its status, a whole number from 400 to 599.`,
    );
  }
}

/** The title of a problem whose `type` is `about:blank`: the phrase of its HTTP status (RFC 9457 §4.2.1). */
export function titleOfStatus(status: number): string {
  return STATUS_CODES[status] ?? 'Error';
}

/** What a caller who is refused is answered: the code, and the status of the response. */
export interface Refusal {
  code: ErrorCode | HostCode;
  status: number;
}

/** The codes of exceptions of the host, for example of its guards, whose status has one meaning only. */
const CODE_OF_STATUS: Record<number, ErrorCode> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  415: 'unsupported_media_type',
  429: 'rate_limited',
  503: 'unavailable',
};

/** The refusal that an error stands for. An exception of the host keeps its status; any other error is `internal`. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof QueryError) return { code: error.code, status: error.status };
  const status = error instanceof HttpException ? error.getStatus() : 500;
  const code = CODE_OF_STATUS[status] ?? (status < 500 ? 'refused' : 'internal');
  return { code, status };
}

/**
 * Why the signal of a handler is aborted if the run goes on: in another attempt, of this or of another process.
 *
 * @example
 * if (signal.reason instanceof HandedOver) return; // The next attempt needs what this one has.
 */
export class HandedOver extends Error {
  override readonly name = 'HandedOver';

  constructor() {
    super('The run continues in another attempt.');
  }
}
