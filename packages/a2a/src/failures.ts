import { A2A_ERROR_CODE, A2AError, isJsonRpcError } from '@a2a-js/sdk/errors';
import { QueryError } from 'nest-agent-query';
import { withoutSecrets } from 'nest-agent-query/agents';

/** The agent does not keep to the protocol. */
export function unreadable(cause: unknown): QueryError {
  return failure('invalid_envelope', 'The remote agent sent something that cannot be read.', cause);
}

export function tooManyArtifacts(most: number): QueryError {
  return failure('limit_exceeded', `The remote agent answered with more than ${most} artifacts.`);
}

export function filesTooLarge(most: number, size: number): QueryError {
  const [limit, given] = [most, size].map((bytes) => `${(bytes / 1024 / 1024).toFixed(1)} MiB`);
  return failure(
    'limit_exceeded',
    `The remote agent gets files of at most ${limit} together, and the query has ${given}. Send less.`,
  );
}

/** @param why for the log: what the card lacks */
export function notUsable(why: string, cause?: unknown): QueryError {
  const detail = 'The remote agent has no card that this service can use. The service has logged the cause.';
  return failure('handler_failed', detail, new Error(why, { cause }));
}

/** The task has ended without an answer. What the agent says to it may be for nobody but operators. */
export function notCompleted(what: 'failed' | 'rejected' | 'canceled', text: string): QueryError {
  if (what === 'canceled')
    return failure('handler_failed', 'The task was cancelled in the remote agent.', said(text));
  const detail = what === 'failed' ? 'The remote agent failed.' : 'The remote agent rejected the query.';
  return failure('handler_failed', `${detail} The service has logged the cause.`, said(text));
}

/** The agent no longer has the task. */
export function taskLost(cause: unknown): QueryError {
  const detail = 'The remote agent no longer has the rest of its answer. Send the query again.';
  return failure('interrupted', detail, cause);
}

/**
 * What the client of the SDK has thrown, as a failure of the run.
 *
 * @param secrets the values of headers
 */
export function failureOf(error: unknown, secrets: readonly string[]): unknown {
  const refusal = refusalOf(error);
  if (!refusal) return error instanceof QueryError ? error : unreadable(error);
  const cause = new Error(withoutSecrets(`${refusal.name}: ${refusal.message}`, secrets));
  if (refusal.reason === 'TASK_NOT_FOUND') return taskLost(cause);
  if (refusal.reason === 'CONTENT_TYPE_NOT_SUPPORTED') {
    const detail = 'The remote agent does not take a part of this type. The service has logged the cause.';
    return failure('unsupported_media_type', detail, cause);
  }
  return failure(
    'handler_failed',
    'The remote agent refused a request. The service has logged the cause.',
    cause,
  );
}

/** The error of A2A that the agent has answered; undefined if there is none. In a stream the SDK has it as a cause. */
export function refusalOf(error: unknown): A2AError | undefined {
  if (error instanceof A2AError) return error;
  return error instanceof Error && error.cause instanceof A2AError ? error.cause : undefined;
}

/** Whether the agent does not have the method that was called: it will not have it later either. */
export function hasNoMethod(error: unknown): boolean {
  const refusal = refusalOf(error);
  if (refusal?.reason === 'UNSUPPORTED_OPERATION') return true;
  return isJsonRpcError(refusal) && refusal.envelopeCode === A2A_ERROR_CODE.METHOD_NOT_FOUND;
}

function said(text: string): Error {
  return new Error(`The remote agent says: ${text.slice(0, 2_000) || '(nothing)'}`);
}

function failure(code: QueryError['code'], detail: string, cause?: unknown): QueryError {
  return new QueryError(code, detail, {}, { cause });
}
