import { AgentQueryError } from 'nest-agent-query-client';
import { type ErrorCode, INTERRUPTED, QueryError, type RunEnd, STATUS_OF_CODE } from '../../query/index.js';

/** Codes of errors after which another try fails in the same way: of certificates, of TLS, and of the HTTP parser. */
const FINAL = /^(?:ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH|EPROTO|HPE_)/;

/** Faults of the query itself: the sentence of the remote service tells the caller what to change. */
const FAULTS_OF_QUERY: ReadonlySet<string> = new Set<ErrorCode>([
  'invalid_query',
  'limit_exceeded',
  'unsupported_media_type',
  'session_busy',
  'session_full',
]);

/** The most characters of a sentence of the remote service that a caller reads. */
const SENTENCE_LENGTH = 500;

/** Whether there was no response, and another try is of no use. */
export function isFinal({ cause }: AgentQueryError): boolean {
  return FINAL.test((cause as NodeJS.ErrnoException | undefined)?.code ?? '');
}

/** Whether the remote service may have begun to execute a query that has failed so. */
export function mayHaveBegun({ status, cause }: AgentQueryError): boolean {
  // A gateway does not know whether the service behind it has begun.
  if (status !== undefined) return status === 502 || status === 504;
  const { syscall } = (cause ?? {}) as NodeJS.ErrnoException;
  return syscall !== 'connect' && syscall !== 'getaddrinfo';
}

/** The process of an earlier attempt was lost, and the remote service may have executed the query. */
export function mayBeExecuted(): QueryError {
  return interrupted((INTERRUPTED as Extract<RunEnd, { status: 'failed' }>).error.message);
}

/** The connection was cut, and the remote service keeps no runs. */
export function cutForGood(cause: unknown): QueryError {
  const detail =
    'The connection to the remote agent was cut, and its answer cannot be resumed. Send the query again.';
  return interrupted(detail, cause);
}

/** The remote run was restarted, and what it emitted again is not what was passed on. */
export function answersDiffer(): QueryError {
  return interrupted(
    'The remote agent was restarted, and its new answer differs from what it has answered before. Send the query again.',
  );
}

/** The remote service does not execute the query, or cannot be reached. */
export function notSubmitted(error: AgentQueryError): QueryError {
  const { status, code, problem, cause } = error;
  if (status === undefined) return unreachable(error);
  if (FAULTS_OF_QUERY.has(code) && typeof problem?.detail === 'string')
    return failure(code as ErrorCode, sentenceOf(problem.detail), cause);
  if (status === 429)
    return failure('rate_limited', 'The remote agent gets too many queries. Try again later.', cause);
  if (status >= 502 && status <= 504)
    return failure('unavailable', 'The remote agent has no room at present. Try again later.', cause);
  const sentence =
    status === 401 || status === 403
      ? 'The remote agent refuses the credential of this service. Its operator must look at the log.'
      : `The remote agent refused the query with the status ${status}. The service has logged the cause.`;
  return failure('handler_failed', sentence, cause);
}

/** The remote service does not have the run, or the rest of its log. */
export function notResumed(error: AgentQueryError): QueryError {
  const { status, cause } = error;
  if (status === undefined) return unreachable(error);
  if (status === 204 || isGone(status))
    return interrupted('The remote agent no longer has the rest of its answer. Send the query again.', cause);
  const detail = `The remote agent refused to resume its answer with the status ${status}. The service has logged the cause.`;
  return failure('handler_failed', detail, cause);
}

/** The remote service does not take an answer to what its run has asked. */
export function notAnswered(error: AgentQueryError): QueryError {
  const { status, cause } = error;
  if (status === undefined || isGone(status)) return notResumed(error);
  const detail = `The remote agent refused an answer with the status ${status}. The service has logged the cause.`;
  return failure('handler_failed', detail, cause);
}

/** The remote run asks something that no run can ask. */
export function askedWrongly(why: string, cause?: unknown): QueryError {
  return invalidEnvelope(`The remote agent asked something that is not valid. ${why}`, cause);
}

/** The remote service does not return a file of its answer. */
export function fileNotFetched(error: AgentQueryError): QueryError {
  const { status, cause } = error;
  if (status === undefined) return unreachable(error);
  const detail = isGone(status)
    ? 'The remote agent no longer has a file of its answer. Send the query again.'
    : `The remote agent refused a file of its answer with the status ${status}. The service has logged the cause.`;
  return failure('handler_failed', detail, cause);
}

/** The remote service does not keep to its interface. */
export function failed(detail: string): QueryError {
  return failure('handler_failed', detail);
}

/** What the remote service has sent is no envelope. */
export function invalidEnvelope(detail: string, cause?: unknown): QueryError {
  return failure('invalid_envelope', detail, cause);
}

/**
 * What the data of the remote `done` mean for the run; undefined if the remote run has completed.
 *
 * @param isOfRun whether the remote service keeps runs: then its sentences are for callers
 */
export function failureOfEnd(data: unknown, isOfRun: boolean): QueryError | undefined {
  const { status, error } = (data ?? {}) as {
    status?: unknown;
    error?: { code?: unknown; message?: unknown };
  };
  if (status === 'completed') return undefined;
  if (status === 'cancelled') return failed('The run was cancelled in the remote service.');
  if (status !== 'failed') return invalidEnvelope('The remote agent ended in a way that has no meaning.');
  const message = isOfRun && typeof error?.message === 'string' ? sentenceOf(error.message) : '';
  const code = isKnownCode(error?.code) ? error.code : 'handler_failed';
  return failure(code, message || 'The remote agent failed.');
}

/** The remote run cannot be continued. A query with the same idempotency key starts a new run. */
function interrupted(detail: string, cause?: unknown): QueryError {
  return failure('interrupted', detail, cause);
}

/** No connection can be made. */
function unreachable(cause: unknown): QueryError {
  return failure('unavailable', 'The remote agent cannot be reached. Try again later.', cause);
}

function failure(code: ErrorCode, detail: string, cause?: unknown): QueryError {
  return new QueryError(code, detail, {}, { cause });
}

function isGone(status: number): boolean {
  return status === 404 || status === 410;
}

/** Whether a code is of the closed list of this service. */
function isKnownCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(STATUS_OF_CODE, code);
}

/** A sentence of the remote service, as callers may read it: one line of bounded length. */
function sentenceOf(text: string): string {
  // eslint-disable-next-line no-control-regex
  const line = text.replace(/[\u0000-\u001f\u007f]+/g, ' ').trim();
  return line.length > SENTENCE_LENGTH ? `${line.slice(0, SENTENCE_LENGTH)}…` : line;
}
