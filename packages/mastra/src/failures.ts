import { QueryError } from 'nest-agent-query';
import { modelFailure } from 'nest-agent-query-adapters';

/** What the framework reports as an error in its stream. It may be an error, or only say what one has said. */
export class MastraFailure extends Error {
  override readonly name = 'MastraFailure';

  constructor(override readonly cause: unknown) {
    super(messageOf(cause));
  }
}

/**
 * What an error means for the run.
 *
 * @param hasBegun whether the model has already answered something
 */
export function mastraFailure(error: unknown, hasBegun: boolean): unknown {
  return modelFailure(error instanceof MastraFailure ? error.cause : error, hasBegun) ?? error;
}

/** A framework without a storage cannot go on with an answer. */
export function cannotAsk(): QueryError {
  const detail =
    'The agent asks a question, but could not go on with the answer: it belongs to no Mastra that has a storage.';
  return new QueryError('handler_failed', detail);
}

/** The storage has lost a run that waits, or somebody has deleted it. */
export function stateLost(): QueryError {
  return new QueryError('interrupted', 'The agent has lost the state of this run. Send the query again.');
}

function messageOf(cause: unknown): string {
  if (typeof cause === 'string') return cause;
  const { message } = (cause ?? {}) as { message?: unknown };
  return typeof message === 'string' ? message : 'The framework has reported an error without a message.';
}
