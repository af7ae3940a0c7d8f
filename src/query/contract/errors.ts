/**
 * Everything that can be wrong, by its stable code: the HTTP status that it becomes before a stream has begun, and the
 * title of its problem document (RFC 9457 §3.1.4). A code without a status of its own occurs only at the end of a run,
 * as `error.code` of the `done` envelope; asked for over HTTP it would be a 500.
 */
const CODES = {
  invalid_json: { status: 400, title: 'The body is not JSON' },
  invalid_query: { status: 400, title: 'The query is not valid' },
  unauthorized: { status: 401, title: 'A credential is needed' },
  forbidden: { status: 403, title: 'The credential is not sufficient' },
  not_found: { status: 404, title: 'There is nothing here' },
  body_timeout: { status: 408, title: 'The body did not arrive in time' },
  session_busy: { status: 409, title: 'The session is busy' },
  cursor_expired: { status: 410, title: 'The cursor lies before what is still kept' },
  limit_exceeded: { status: 413, title: 'A limit is passed' },
  unsupported_media_type: { status: 415, title: 'The content type is not read' },
  unsupported_encoding: { status: 415, title: 'The content encoding is not read' },
  idempotency_conflict: { status: 422, title: 'The idempotency key was used with another query' },
  rate_limited: { status: 429, title: 'Too many requests' },
  session_full: { status: 429, title: 'Too many queries of the session are waiting' },
  internal: { status: 500, title: 'The service failed' },
  at_capacity: { status: 503, title: 'The service is at capacity' },
  draining: { status: 503, title: 'The service is going down' },
  unavailable: { status: 503, title: 'The service is not available' },
  storage_full: { status: 507, title: 'There is no room for the body' },
  handler_failed: { status: 500, title: 'The agent failed' },
  invalid_envelope: { status: 500, title: 'The agent emitted something that is not an envelope' },
  run_timeout: { status: 500, title: 'The run took too long' },
  interrupted: { status: 500, title: 'The run was lost with its process' },
} as const;

/** The closed list of codes, in problems and in the `done` envelope. Codes are added, never changed. */
export type ErrorCode = keyof typeof CODES;

/** One fault of a request. */
export interface FieldError {
  /** Where it is: a JSON Pointer (RFC 6901) into the request's body. */
  pointer: string;
  detail: string;
}

/** Members of a problem that only some codes have. */
export interface ErrorExtras {
  /** The faults of the request's body. */
  errors?: FieldError[];
  /** `limit_exceeded`: the limit's name, … */
  limit?: string;
  /** … its value, in bytes or in parts, … */
  value?: number;
  /** … and the index of the part that passed it. */
  part?: number;
  /** `cursor_expired`: the first number that is still kept … */
  oldest?: number;
  /** … and the last. */
  latest?: number;
  /** Seconds until another try makes sense; sent as `Retry-After`. */
  retryAfter?: number;
}

/**
 * Something that a caller is told: a code of the closed list and a sentence that says what was wrong, where, and what to
 * do. The sentence reaches the caller as it is, so it holds no stack, no path and no text of an unexpected exception.
 */
export class QueryError extends Error {
  override readonly name = 'QueryError';

  /**
   * @param code what went wrong
   * @param detail the sentence for the caller
   * @param extras members that the code has besides
   * @param options `cause`: what the operator's log is to show besides
   */
  constructor(
    readonly code: ErrorCode,
    readonly detail: string,
    readonly extras: ErrorExtras = {},
    options?: ErrorOptions,
  ) {
    super(detail, options);
  }

  /** The HTTP status of the code. */
  get status(): number {
    return CODES[this.code].status;
  }

  /** The title of the code: the same for every occurrence. */
  get title(): string {
    return CODES[this.code].title;
  }
}
