/**
 * The agent that asks another service, as hosts import it from `nest-agent-query/agents/remote`; and what packages with agents that
 * are reached in another way have in common with it.
 */
import {
  answersDiffer,
  cutForGood,
  isFinal,
  mayBeExecuted,
  mayHaveBegun,
  notAnswered,
  notResumed,
  notSubmitted,
} from './failures.js';

export { remoteHandler } from './remote-handler.js';
export { askHere } from './remote-inputs.js';
export { type RemoteOptions, type RemoteSettings, remoteSettings } from './remote-options.js';
export { patientRetries, type Repetition, repeated } from './repeated.js';
export { traceHeaders } from './trace-headers.js';

/**
 * What the failures of a remote agent mean for a run. The sentences are for callers: they name no host.
 *
 * @example
 * throw failures.notSubmitted(error);
 */
export const failures = {
  answersDiffer,
  cutForGood,
  isFinal,
  mayBeExecuted,
  mayHaveBegun,
  notAnswered,
  notResumed,
  notSubmitted,
};
