import { QueryError } from 'nest-agent-query';
import { modelFailure } from 'nest-agent-query-adapters';

/** What errors of LangGraph have. */
interface GraphError {
  lc_error_code?: unknown;
  errors?: unknown;
}

/**
 * What a run fails with.
 *
 * @param ofModel says whether a model has failed with an error, and whether the model had said something before; undefined if no
 * model has
 * @returns an error with a sentence for the caller, where the cause is known; otherwise the error itself
 */
export function langGraphFailure(
  error: unknown,
  ofModel: (error: unknown) => { hasBegun: boolean } | undefined,
): unknown {
  if (error instanceof QueryError) return error;
  const { errors, lc_error_code: code } = (error ?? {}) as GraphError;
  // Several nodes of one step have failed.
  if (Array.isArray(errors)) {
    const known = errors
      .map((one) => langGraphFailure(one, ofModel))
      .find((one) => one instanceof QueryError);
    return known ?? error;
  }
  if (code === 'GRAPH_RECURSION_LIMIT') return stepsUsedUp(error);
  if (code === 'MISSING_CHECKPOINTER') return cannotAsk(error);
  // The status of an error of anything else says nothing about a model.
  const failed = ofModel(error);
  return (failed && modelFailure(error, failed.hasBegun)) ?? error;
}

/** The checkpointer has lost the thread of a run, or somebody has deleted it. */
export function threadLost(): QueryError {
  return new QueryError('interrupted', 'The agent has lost the state of this run. Send the query again.');
}

/** A graph goes on with an answer from where its checkpointer has kept it. */
function cannotAsk(cause: unknown): QueryError {
  const detail =
    'The agent asks a question, but could not go on with the answer: its graph is compiled without a checkpointer.';
  return new QueryError('handler_failed', detail, {}, { cause });
}

function stepsUsedUp(cause: unknown): QueryError {
  const detail = 'The agent has used up its steps without an answer. Ask for less at once.';
  return new QueryError('handler_failed', detail, {}, { cause });
}
