import type { InputAnswer, InputKind, InputRequest } from 'nest-agent-query';
import { invalidRequest } from '../refusals.js';

/** The functions by which a run asks for something else than the result of a call. */
const FUNCTIONS: Record<Exclude<InputKind, 'tool'>, string> = {
  approval: 'request_approval',
  input: 'request_user_input',
  auth: 'request_sign_in',
};

/** Whether a tool of a request stands for such a function: it is none that a model calls. */
export function isAskingFunction(name: string): boolean {
  return Object.values(FUNCTIONS).includes(name);
}

/** A request of a run as a call that the client executes. */
export interface AskedCall {
  name: string;
  /** JSON. */
  arguments: string;
}

/** @param request which is no approval, or whose client cannot read approvals */
export function askedCall(request: InputRequest): AskedCall {
  const { kind, message, name, schema, url } = request;
  if (kind === 'tool') return { name: name!, arguments: JSON.stringify(request.arguments ?? {}) };
  const call = kind === 'approval' && { name, arguments: request.arguments };
  return { name: FUNCTIONS[kind], arguments: JSON.stringify({ message, ...call, schema, url }) };
}

/** Names a request of a run to clients, who send the id back: with the id of the run, so that it is found without a conversation. */
export function askedId(prefix: 'call' | 'mcpr' | 'fc', runId: string, requestId: string): string {
  return `${prefix}_${runId}_${requestId}`;
}

/** What a client answers to a request of a run. */
export interface GivenAnswer {
  /** What `askedId` has returned. */
  id: string;
  /** Of an approval: the decision. */
  approval?: { approved: boolean; reason?: string };
  /** Of a call: what the client's function has returned. */
  output?: unknown;
  /** To the value in the body, as a JSON Pointer. */
  pointer: string;
}

/** The run and the request that an id names. @throws {QueryError} `invalid_query`: it is none of ours */
export function askedBy({ id, pointer }: GivenAnswer): { runId: string; requestId: string } {
  const [, runId, requestId] = /^(?:call|mcpr)_([\da-f-]{36})_(.+)$/s.exec(id) ?? [];
  if (runId === undefined) throw invalidRequest(pointer, 'is the id of no call that a response has');
  return { runId, requestId: requestId! };
}

/** An answer as the run takes it. Whether the value is valid, is for the run to check. */
export function inputAnswer({ id, kind, schema }: InputRequest, given: GivenAnswer): InputAnswer {
  return { id, outcome: 'answered', value: valueOf(kind, schema !== undefined, given) };
}

function valueOf(kind: InputKind, hasSchema: boolean, { approval, output }: GivenAnswer): unknown {
  if (approval && kind === 'approval') return approval;
  if (kind === 'tool') return { content: output };
  if (kind === 'auth') return {};
  return kind === 'approval' || hasSchema ? parsed(output) : output;
}

/** What a function has returned, which is a text; the text itself if it is not JSON. */
function parsed(output: unknown): unknown {
  if (typeof output !== 'string') return output;
  try {
    return JSON.parse(output) as unknown;
  } catch {
    return output;
  }
}
