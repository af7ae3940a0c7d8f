import type { QueryContext, Question, ResolvedInput } from 'nest-agent-query';
import { isObject, type PermissionRequest } from './protocol.js';
import { hash } from 'node:crypto';
import type { KnownCall } from '../translate/index.js';

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

/** Members that name or date one call, so that they differ when the model makes it again. */
const OF_ONE_CALL = /(?:^|_)ids?$|Ids?$|(?:_at|At)(?:_?ms|Ms)?$|timestamp/;

/**
 * The same for two permissions that allow the same call: of the same kind and title, with the same arguments.
 */
export function markOf({ toolCall = {} }: PermissionRequest, call: KnownCall): string {
  const parts = [
    toolCall.kind ?? call.kind ?? '',
    toolCall.title ?? call.title ?? '',
    comparable(call.rawInput),
  ];
  return hash('sha256', JSON.stringify(parts), 'hex');
}

function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable);
  if (!isObject(value)) return value ?? null;
  const kept = Object.entries(value).filter(([name]) => !OF_ONE_CALL.test(name));
  kept.sort(([one], [other]) => (one < other ? -1 : 1));
  return kept.map(([name, each]) => [name, comparable(each)]);
}
