import { type HostCode, type ErrorCode, QueryError } from '../query/index.js';

/**
 * Why a request has no access, with the header that says how to get it. The guards throw it.
 *
 * @example
 * @Catch(AccessRefusal)
 * class OwnPage implements ExceptionFilter {}
 */
export class AccessRefusal extends QueryError {
  /**
   * @param challenge the value of `WWW-Authenticate`
   * @param reason what the operator's log shows; a fixed sentence, without anything that the caller has sent
   * @param retryAfter in seconds
   */
  constructor(
    code: ErrorCode | HostCode,
    detail: string,
    readonly challenge?: string,
    readonly reason?: string,
    retryAfter?: number,
  ) {
    super(code, detail, retryAfter === undefined ? {} : { retryAfter });
  }
}

const REALM = 'Bearer realm="nest-agent-query"';
const WHAT_TO_SEND =
  'Send an API key or a token as "Authorization: Bearer <credential>", or an API key as "X-API-Key: <key>".';

/** RFC 6750 §3.1: a request without a credential gets no error code. */
export function noCredential(): AccessRefusal {
  return new AccessRefusal('unauthorized', `This needs a credential. ${WHAT_TO_SEND}`, REALM);
}

/**
 * The caller is not told why, because that would tell an attacker what to try next.
 *
 * @param reason why, for the operator
 */
export function invalidCredential(reason: string): AccessRefusal {
  const detail = `The credential is not valid, or no longer valid. ${WHAT_TO_SEND}`;
  return new AccessRefusal('unauthorized', detail, `${REALM}, error="invalid_token"`, reason);
}

/** RFC 6750 §2: a client must not use more than one method in a request. */
export function severalCredentials(): AccessRefusal {
  return new AccessRefusal(
    'invalid_query',
    'The request has several credentials that differ. Send one, either as "Authorization: Bearer" or as "X-API-Key".',
    `${REALM}, error="invalid_request"`,
    'The request had several credentials that differ.',
  );
}

/** @param retryAfter in seconds */
export function keysUnavailable(retryAfter: number): AccessRefusal {
  const detail =
    'The token cannot be checked now, because the keys of its issuer cannot be reached. Try again in a moment.';
  return new AccessRefusal('unavailable', detail, undefined, undefined, retryAfter);
}

/**
 * @param queriesPerMinute the limit
 * @param retryAfter in seconds
 */
export function tooManyQueries(queriesPerMinute: number, retryAfter: number): AccessRefusal {
  const detail = `You may begin ${queriesPerMinute} queries in a minute. Try again in ${retryAfter} s.`;
  return new AccessRefusal('rate_limited', detail, undefined, undefined, retryAfter);
}
