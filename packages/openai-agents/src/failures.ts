import { QueryError } from 'nest-agent-query';
import { cutModel, modelFailure } from 'nest-agent-query-adapters';
import type { Framework } from './framework.js';

/** The framework has ended without an output, an approval or an error. */
export function noOutput(): QueryError {
  return cutModel(new Error('The framework has ended without an output of the agent.'));
}

/** The framework says so where the stream of a model ends without its last event. */
const NO_RESPONSE = 'Model did not produce a final response';

/**
 * What an error of the framework means for the run.
 *
 * @param hasBegun whether a model has already answered something
 */
export function openAIAgentsFailure(framework: Framework, error: unknown, hasBegun: boolean): unknown {
  const own = ownFailure(framework, error);
  if (own !== undefined) return new QueryError('handler_failed', own, {}, { cause: error });
  if (error instanceof framework.ToolCallError || error instanceof framework.GuardrailExecutionError)
    return error.error instanceof QueryError ? error.error : error;
  if (error instanceof framework.ModelBehaviorError)
    return error.message.startsWith(NO_RESPONSE) ? cutModel(error) : error;
  if (error instanceof framework.AgentsError) return error;
  return modelFailure(error, hasBegun) ?? error;
}

/** What the caller reads of an end that the agent's author has provided for. */
function ownFailure(framework: Framework, error: unknown): string | undefined {
  if (error instanceof framework.MaxTurnsExceededError)
    return 'The agent was stopped: it has called its models as often as it may for one query.';
  if (error instanceof framework.InputGuardrailTripwireTriggered)
    return 'A guardrail of the agent does not let it answer this query.';
  if (error instanceof framework.OutputGuardrailTripwireTriggered)
    return 'A guardrail of the agent does not let it give the answer that it has made. Do not use what was received.';
  if (
    error instanceof framework.ToolInputGuardrailTripwireTriggered ||
    error instanceof framework.ToolOutputGuardrailTripwireTriggered
  )
    return 'A guardrail of the agent does not let it use a tool in this way.';
  return undefined;
}
