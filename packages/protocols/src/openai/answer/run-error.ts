import type { RunEnd } from 'nest-agent-query';
import type { HostResponse } from 'nest-agent-query/protocol';

/** An error as clients of OpenAI read it. */
export interface RunError {
  message: string;
  type: 'invalid_request_error' | 'invalid_response_error';
  param: null;
  code: string;
}

/**
 * Why a run gave no whole answer. The AI SDK reads the type in a stream: it sends the request again, and so executes the agent again,
 * unless the type has a word such as "invalid".
 */
export function runError(code: string, message: string): RunError {
  return { message, type: 'invalid_response_error', param: null, code };
}

/** The error of the end of a run; undefined if it is completed. */
export function errorOfEnd(end: RunEnd): RunError | undefined {
  if (end.status === 'failed') return runError(end.error.code, end.error.message);
  return end.status === 'cancelled' ? runError('run_ended', 'The run was cancelled.') : undefined;
}

/**
 * Makes a response the answer of a run that has no whole one. Its status is 400: clients send a request again after 408, 409, 429 and
 * each 5xx, and LangChain's after 422 too.
 */
export function answerFailed(response: HostResponse): void {
  response.status(400);
  response.header('x-should-retry', 'false');
}
