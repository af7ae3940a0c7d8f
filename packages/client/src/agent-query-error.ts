import type { Problem } from './wire/index.js';

/** Codes that the client itself adds to those of the service. */
export type ClientErrorCode =
  'connection_lost' | 'invalid_response' | 'cancelled' | 'file_unreadable' | 'body_not_repeatable';

/** What an error knows besides its code and its sentence. */
export interface ErrorDetails {
  status?: number | undefined;
  problem?: Problem | undefined;
  retryAfterMs?: number | undefined;
  runId?: string | undefined;
  cause?: unknown;
}

/**
 * Why a call of the client failed. `message` is for people, `code` for programs: a code of the service, or one of the client:
 *
 * - `connection_lost`: no connection could be made, or it dropped too often
 * - `invalid_response`: what answered is not this service, or something in between has changed its response
 * - `cancelled`: the run was cancelled, so `text()` has no whole text
 * - `file_unreadable`: a file of the query cannot be read
 * - `body_not_repeatable`: the query has to be sent again, but a stream in it can be read only once
 *
 * @example
 * try {
 *   console.log(await client.ask('Hello').text());
 * } catch (error) {
 *   if (error instanceof AgentQueryError && error.code === 'limit_exceeded') console.log(error.errors);
 * }
 */
export class AgentQueryError extends Error {
  override readonly name = 'AgentQueryError';
  /** The HTTP status, if the service refused the request. */
  declare readonly status: number | undefined;
  /** The whole problem (RFC 9457), if the service sent one. With `cursor_expired` it has `oldest` and `latest`. */
  declare readonly problem: Problem | undefined;
  /** The faults of the body, if the service named them. */
  readonly errors: Problem['errors'];
  /** The milliseconds that the service asks to wait. */
  declare readonly retryAfterMs: number | undefined;
  /** The run, if the query was admitted. */
  declare runId: string | undefined;

  constructor(
    readonly code: ClientErrorCode | Problem['code'],
    message: string,
    { cause, ...details }: ErrorDetails = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.errors = details.problem?.errors;
    Object.assign(this, details);
  }
}

/**
 * There was no response, or not the whole one.
 *
 * @returns an error with the code `connection_lost`
 *
 * @example
 * request.on('error', (error) => reject(connectionLost(error.message, error)));
 */
export function connectionLost(message: string, cause?: unknown): AgentQueryError {
  return new AgentQueryError('connection_lost', message, { cause });
}

/** There was a response, and its end did not come. */
export function responseCut(cause?: unknown): AgentQueryError {
  return connectionLost('The response was cut.', cause);
}

/** There was a response that this service does not give. */
export function invalidResponse(message: string, cause?: unknown): AgentQueryError {
  return new AgentQueryError('invalid_response', `${message} Is this the address of the service?`, { cause });
}

/** @param to where the redirect leads, if the platform tells */
export function redirected(url: string, to: string | null, status?: number): AgentQueryError {
  const where = to === null ? '' : ` to ${to}`;
  const message = `${url} redirects${where}, which could be another host. Use the address of the service itself.`;
  return new AgentQueryError('refused', message, { status });
}

/**
 * Reads why a request was refused.
 *
 * @param body of the response: a problem (RFC 9457), or anything else. Of a text, or of the first of `detail`, `message` and `error`
 * of other JSON that is a text, 200 characters become the message; HTML does not
 * @param retryAfter the header `Retry-After`: seconds, or a date
 *
 * @example
 * if (!response.ok) throw refusalOf(response.status, await response.text(), response.headers.get('Retry-After'));
 */
export function refusalOf(status: number, body: string, retryAfter: string | null): AgentQueryError {
  const retryAfterMs = retryAfterOf(retryAfter);
  let reason: unknown = body;
  try {
    const problem = JSON.parse(body) as Problem & OfOthers;
    if (problem.code && problem.detail)
      return new AgentQueryError(problem.code, problem.detail, { status, problem, retryAfterMs });
    reason = [problem.detail, problem.message, problem.error].find((each) => typeof each === 'string');
  } catch {
    // Something between the client and the service has answered.
  }
  const code = status < 500 ? 'refused' : 'unavailable';
  const line = typeof reason === 'string' ? reason.replace(/[\p{C}\s]+/gu, ' ').trim() : '';
  // A page of HTML is no reason.
  const [text] = /^[^<].{0,199}/u.exec(line) ?? [];
  const message = `The service answered ${status}${text ? `: ${text}` : ', and gave no reason.'}`;
  return new AgentQueryError(code, message, { status, retryAfterMs });
}

/** Where others than the service say why they refuse a request. */
interface OfOthers {
  message?: unknown;
  error?: unknown;
}

/** `Retry-After` in milliseconds: seconds, or a date (RFC 9110 §10.2.3). */
function retryAfterOf(value: string | null): number | undefined {
  if (value === null) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

/**
 * Whether the same request may succeed later: there was no connection, or the status is 429, 502, 503 or 504.
 *
 * @example
 * if (isTransient(error)) console.log(`Try again in ${error.retryAfterMs ?? 1000} ms.`);
 */
export function isTransient(error: unknown): error is AgentQueryError {
  if (!(error instanceof AgentQueryError)) return false;
  return error.code === 'connection_lost' || [429, 502, 503, 504].includes(error.status ?? 0);
}
