import { type Envelope, log, QueryError } from 'nest-agent-query';
import { modelFailure } from 'nest-agent-query-adapters';
import type { ClaudeMessage } from './sdk.js';

const NOT_SIGNED_IN = /not logged in|invalid api key|authenticat/i;

/** What the endpoint of the model has refused, as Claude Code reports it. */
class EndpointFailure extends Error {
  override readonly name = 'EndpointFailure';

  constructor(
    message: string,
    readonly status: number | undefined,
  ) {
    super(message);
  }
}

/**
 * What the last message of a query says besides the answer.
 *
 * @throws {QueryError} the model has failed · {Error} Claude Code has failed: the log has its words
 */
export function endOf(result: ClaudeMessage): Envelope[] {
  const { subtype, is_error: isError, structured_output: value } = result;
  if (subtype === 'error_max_turns') return [log('The agent has used up its steps.')];
  if (subtype === 'error_max_budget_usd')
    throw new QueryError('limit_exceeded', 'The agent has used up the budget of one answer.');
  if (subtype !== 'success') throw new Error(`Claude Code failed. ${String(result['errors'] ?? subtype)}`);
  // A failure of the endpoint is a success with `is_error`.
  if (isError === true) throw endpointFailure(result);
  return value === undefined ? [] : [{ type: 'result', data: { value } }];
}

/** @param hasBegun whether the model has already answered something */
export function claudeFailure(error: unknown, hasBegun: boolean): unknown {
  return modelFailure(error, hasBegun) ?? error;
}

/** Another process, or somebody, has removed what Claude Code has kept. */
export function stateLost(): QueryError {
  return new QueryError('interrupted', 'The agent has lost the state of this run. Send the query again.');
}

function endpointFailure({ result, api_error_status: status, terminal_reason: why }: ClaudeMessage): Error {
  const text = String(result);
  if (typeof status === 'number') return new EndpointFailure(text, status);
  if (NOT_SIGNED_IN.test(text)) return new EndpointFailure(text, 401);
  const failure = new EndpointFailure(text, undefined);
  if (why !== 'api_error') return failure;
  const sentence = 'The endpoint of the model cannot be reached. Try again later.';
  return modelFailure(failure, false) ?? new QueryError('unavailable', sentence, {}, { cause: failure });
}
