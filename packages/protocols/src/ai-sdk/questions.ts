import type { ApprovalValue, InputRequest, ResolvedInput, ToolValue } from 'nest-agent-query';
import type { CallChunk } from './message-parts.js';

/** The tools that requests without a call are for the client. */
const TOOLS = { input: 'request_user_input', auth: 'request_auth' };

/** Why a request has no answer. */
const UNANSWERED: Record<string, string> = {
  declined: 'Nobody wanted to answer.',
  expired: 'Nobody has answered in time.',
  superseded: 'Withdrawn: the user has sent another message instead of an answer.',
  cancelled: 'The run was ended before the answer.',
};

/** The id of the call that a request is for the client. */
export function callIdOf({ id, kind, toolCallId }: InputRequest): string {
  return kind === 'approval' || kind === 'tool' ? (toolCallId ?? id) : id;
}

/** The call that a request is for the client. */
export function callOf(request: InputRequest) {
  const { kind, message, name = 'request_approval', arguments: input = { message }, schema, url } = request;
  const call = { type: 'tool-input-available', toolCallId: callIdOf(request) };
  if (kind === 'approval' || kind === 'tool') return { ...call, toolName: name, input };
  return { ...call, toolName: TOOLS[kind], input: { message, schema, url } };
}

/** What the client is told of an answer: a decision, or the result of the call that the request was for it. */
export function chunksOfAnswer(
  request: InputRequest,
  { outcome, value }: ResolvedInput,
  version: 6 | 7,
): CallChunk[] {
  const toolCallId = callIdOf(request);
  const isGiven = outcome === 'answered' || value !== undefined;
  if (request.kind === 'approval') {
    const decision = isGiven
      ? (value as ApprovalValue | undefined)
      : { approved: false, reason: UNANSWERED[outcome]! };
    return decision ? chunksOfDecision(toolCallId, request.id, decision, version) : [];
  }
  if (!isGiven) return [resultOf(toolCallId, UNANSWERED[outcome], true)];
  if (request.kind !== 'tool') return [resultOf(toolCallId, value ?? null)];
  const { content = null, isError } = (value ?? {}) as Partial<ToolValue>;
  return [resultOf(toolCallId, content, isError)];
}

function chunksOfDecision(
  toolCallId: string,
  approvalId: string,
  { approved, reason }: ApprovalValue,
  version: 6 | 7,
): CallChunk[] {
  const response = { type: 'tool-approval-response', toolCallId, approvalId, approved, reason };
  const denied = { type: 'tool-output-denied', toolCallId };
  return [...(version === 7 ? [response] : []), ...(approved ? [] : [denied])];
}

/** The result of a call. */
export function resultOf(toolCallId: string, content: unknown, isError = false): CallChunk {
  if (!isError) return { type: 'tool-output-available', toolCallId, output: content };
  const errorText = typeof content === 'string' ? content : JSON.stringify(content);
  return { type: 'tool-output-error', toolCallId, errorText };
}
