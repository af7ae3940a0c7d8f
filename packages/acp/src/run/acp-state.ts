import { hash } from 'node:crypto';
import type { QueryContext, Question, ResolvedInput } from 'nest-agent-query';
import type { KnownCall } from '../translate/index.js';
import { isObject, type PermissionRequest } from './protocol.js';

/** A question about a call, as another attempt of the run needs it. */
export interface AskedQuestion {
  key: string;
  message: string;
  kind: Question['kind'];
  /** See `markOf`. */
  mark: string;
}

/** The checkpoint of a run. */
export interface AcpState {
  /** The agent's session. The prompt was sent to it, or is about to be. */
  agentSession: string;
  /** The keys of all questions. */
  keys: string[];
  /** The questions that wait for an answer, or whose answer the agent may not have. */
  waiting: AskedQuestion[];
  /** The ids of the calls that have no result yet. */
  open: string[];
}

/** The answer of a question whose process was lost. */
export interface RecordedAnswer {
  question: AskedQuestion;
  answer: ResolvedInput;
}

/** What an earlier attempt has left; undefined if it has sent no prompt. */
export function stateOf({ resumed }: Pick<QueryContext, 'resumed'>): AcpState | undefined {
  const state = resumed?.state as Partial<AcpState> | null | undefined;
  // A host may wrap the handler, and have checkpoints of its own.
  return typeof state?.agentSession === 'string' && Array.isArray(state.waiting)
    ? (state as AcpState)
    : undefined;
}

/**
 * What Codex names and dates each call with, beside its arguments: these differ when the model makes the call again. Any other
 * difference is another call, also another `id`.
 */
const OF_ONE_CALL = ['call_id', 'turn_id', 'approval_id', 'started_at_ms'];

/** The same for two permissions that allow the same call: of the same kind and title, with the same arguments. */
export function markOf({ toolCall = {} }: PermissionRequest, call: KnownCall): string {
  const { rawInput } = call;
  const told = isObject(rawInput)
    ? Object.fromEntries(Object.entries(rawInput).filter(([name]) => !OF_ONE_CALL.includes(name)))
    : rawInput;
  const parts = [toolCall.kind ?? call.kind ?? '', toolCall.title ?? call.title ?? '', comparable(told)];
  return hash('sha256', JSON.stringify(parts), 'hex');
}

/** The same value for objects with the same members, in any order. */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable);
  if (!isObject(value)) return value ?? null;
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return members.map(([name, each]) => [name, comparable(each)]);
}
