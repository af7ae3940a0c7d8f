import type { ResolvedInput } from './inputs.js';

/**
 * The closed list of codes, in problems and in the `done` envelope. Codes are added, never changed.
 *
 * `refused` is for every other 4xx that the host itself answers with, for example from a guard; status and detail are the
 * host's. From `handler_failed` on, codes occur only at the end of a run, as `error.code` of the `done` envelope.
 */
export type ErrorCode =
  | 'invalid_json'
  | 'invalid_query'
  | 'file_missing'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'body_timeout'
  | 'session_busy'
  | 'session_exists'
  | 'invalid_answer'
  | 'input_resolved'
  | 'input_expired'
  | 'run_ended'
  | 'cursor_expired'
  | 'file_expired'
  | 'limit_exceeded'
  | 'unsupported_media_type'
  | 'unsupported_encoding'
  | 'range_not_satisfiable'
  | 'idempotency_conflict'
  | 'rate_limited'
  | 'session_full'
  | 'budget_exceeded'
  | 'refused'
  | 'internal'
  | 'at_capacity'
  | 'draining'
  | 'unavailable'
  | 'storage_full'
  | 'handler_failed'
  | 'invalid_envelope'
  | 'run_timeout'
  | 'followers_stalled'
  | 'answer_too_fast'
  | 'interrupted';

/** A code of the host or of its handler, in lower case, such as `quota_exceeded`. */
export type HostCode = string & Record<never, never>;

/** One fault in the body of a request. */
export interface FieldError {
  /** A JSON Pointer (RFC 6901) to the faulty value. */
  pointer: string;
  /** What is wrong: the rest of a sentence whose subject is the value. */
  detail: string;
}

/** Members of a problem that only some codes have. */
export interface ErrorExtras {
  /** All faults of the body. */
  errors?: FieldError[];
  /** `limit_exceeded`: the name of the limit. */
  limit?: string;
  /** `limit_exceeded`: the value of the limit, in its own unit (bytes, parts, levels). */
  value?: number;
  /** `limit_exceeded`: the index of the part that exceeded it, if one part did. */
  part?: number;
  /** `cursor_expired`: the number of the first envelope that is still kept. */
  oldest?: number;
  /** `cursor_expired`: the number of the last envelope. */
  latest?: number;
  /** `input_resolved` and `input_expired`: what has become of the requests, without the values of private ones. */
  answers?: ResolvedInput[];
  /** `range_not_satisfiable`: the bytes of the file. */
  size?: number;
  /** Seconds to wait before the next try; sent as `Retry-After`. */
  retryAfter?: number;
  /** The HTTP status of a code of the host, from 400 to 599. A code of the closed list has its own. */
  status?: number;
}

/** The body of every error: RFC 9457 `application/problem+json`. */
export interface Problem extends Omit<ErrorExtras, 'retryAfter' | 'status'> {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: ErrorCode | HostCode;
}
