import { createHash } from 'node:crypto';
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';

/** What a call is: the same call again has the same. */
export interface CallFacts {
  owner: string;
  tool: string;
  /** See `digestOfArguments`. */
  argumentsDigest: string;
}

/** Where a run has asked. */
export interface Pause {
  runId: string;
  /** The number of the envelope with the questions. */
  seq: number;
}

/**
 * What a client sends with the call that brings the answers: the pause of its run, and a digest of both and of the call.
 *
 * It has no signature, because it gives no right: the run is looked up among those of the caller, and what it asks, in the log. So
 * nothing is expired or kept here, and every process that shares the store knows it.
 */
export function requestState({ runId, seq }: Pause, call: CallFacts): string {
  return `${runId}.${seq}.${digestOf(runId, seq, call)}`;
}

/**
 * The run that a state names.
 *
 * @throws {ProtocolError} -32602: it is none that was given for this call
 */
export function runOfState(state: unknown, call: CallFacts): string {
  const [, runId, seq, digest] = /^([\w-]{1,100})\.(\d{1,15})\.([\da-f]{64})$/.exec(String(state)) ?? [];
  if (runId !== undefined && digest === digestOf(runId, Number(seq), call)) return runId;
  const sentence =
    'The requestState was not given for this call. Repeat the call with the same arguments and the state as it is.';
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, sentence, { reason: 'invalid_request_state' });
}

function digestOf(runId: string, seq: number, { owner, tool, argumentsDigest }: CallFacts): string {
  const text = JSON.stringify([runId, seq, owner, tool, argumentsDigest]);
  return createHash('sha256').update(text).digest('hex');
}
