import { INTERRUPTED, QueryError, type RunEnd } from '../../query/index.js';
import { isKnownCode, sentenceOf } from './refusal.js';

/** The remote run cannot be continued. A query with the same idempotency key starts a new run. */
export function interrupted(detail: string, cause?: Error): QueryError {
  return new QueryError('interrupted', detail, {}, { cause });
}

/** The process of an earlier attempt was lost, and the remote service may have executed the query. */
export function mayBeExecuted(): QueryError {
  return interrupted((INTERRUPTED as Extract<RunEnd, { status: 'failed' }>).error.message);
}

/** The connection was cut, and the remote service keeps no runs. */
export function cutForGood(cause: Error): QueryError {
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

/** The remote service does not have the run, or the rest of its log. */
export function notResumed(status: number, cause: unknown): QueryError {
  const isGone = status === 204 || status === 404 || status === 410;
  const detail = isGone
    ? 'The remote agent no longer has the rest of its answer. Send the query again.'
    : `The remote agent refused to resume its answer with the status ${status}. The service has logged the cause.`;
  return new QueryError(isGone ? 'interrupted' : 'handler_failed', detail, {}, { cause });
}

/** The remote service does not return a file of its answer. */
export function fileNotFetched(status: number, cause: unknown): QueryError {
  const detail =
    status === 404 || status === 410
      ? 'The remote agent no longer has a file of its answer. Send the query again.'
      : `The remote agent refused a file of its answer with the status ${status}. The service has logged the cause.`;
  return new QueryError('handler_failed', detail, {}, { cause });
}

/** No connection can be made. */
export function unreachable(cause: Error): QueryError {
  return new QueryError('unavailable', 'The remote agent cannot be reached. Try again later.', {}, { cause });
}

/** The remote service does not keep to its interface. */
export function failed(detail: string): QueryError {
  return new QueryError('handler_failed', detail);
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
  if (status !== 'failed')
    return new QueryError('invalid_envelope', 'The remote agent ended in a way that has no meaning.');
  const message = isOfRun && typeof error?.message === 'string' ? sentenceOf(error.message) : '';
  const code = isKnownCode(error?.code) ? error.code : 'handler_failed';
  return new QueryError(code, message || 'The remote agent failed.');
}
