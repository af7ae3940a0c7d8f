import type { ModelMessage, ToolApprovalRequest, ToolCallPart, ToolSet } from 'ai';
import type { Question } from 'nest-agent-query';
import { callId } from 'nest-agent-query-adapters';
import { toolOf } from './tool-output.js';

/** A tool call that waits for a person, or for the code of the caller. */
export interface OpenCall {
  call: ToolCallPart;
  /** The approval that it needs; undefined if the caller executes the call. */
  approval: ToolApprovalRequest | undefined;
  question: Question;
}

/** What the id of a request may be. Some endpoints make longer ids of calls. */
const KEY = /^[^\p{Cc}\p{Cs}]{1,200}$/u;

/**
 * The calls of the newest step that the SDK has not executed, because they need an approval, or have no `execute`. It is a function
 * of the messages alone: another attempt asks the same questions.
 *
 * @param messages what the model and its tools have said in this run
 */
export function openCalls(messages: readonly ModelMessage[], tools: ToolSet): OpenCall[] {
  const index = newestStep(messages);
  const step = partsOf(messages[index]);
  const told = messages.slice(index + 1).flatMap(partsOf);
  const isDone = ({ toolCallId }: ToolCallPart) =>
    told.some((part) => part.type === 'tool-result' && part.toolCallId === toolCallId);
  return step.flatMap((part): OpenCall[] => {
    if (part.type !== 'tool-call' || isDone(part)) return [];
    const approval = step.find((each) => isRequestFor(part, each)) as ToolApprovalRequest | undefined;
    const given = told.find(
      (each) => each.type === 'tool-approval-response' && each.approvalId === approval?.approvalId,
    ) as { approved: boolean } | undefined;
    const tool = toolOf(tools, part.toolName);
    if (approval && !given) return [{ call: part, approval, question: approvalOf(part, approval, tool) }];
    if (!tool || tool.execute || part.providerExecuted || given?.approved === false) return [];
    const isRepeated = messages
      .slice(0, index)
      .flatMap(partsOf)
      .some((each) => isSameCall(part, each));
    const isKey = KEY.test(part.toolCallId) && !isRepeated;
    const key = isKey ? part.toolCallId : callId(String(index), part.toolCallId);
    return [{ call: part, approval: undefined, question: callOf(part, key) }];
  });
}

/** Where the newest step is among the messages; -1 if there is none. */
export function newestStep(messages: readonly ModelMessage[]): number {
  return messages.findLastIndex(({ role }) => role === 'assistant');
}

function approvalOf(
  call: ToolCallPart,
  { approvalId, signature, ...request }: ToolApprovalRequest & { reason?: string },
  tool: ToolSet[string] | undefined,
): Question {
  // The SDK refuses what a signature does not fit. It also asks a function of the host again, and refuses what now needs no approval.
  const isEditable = tool?.needsApproval === true && signature === undefined && !call.providerExecuted;
  return {
    key: approvalId,
    kind: 'approval',
    message: request.reason ?? `The agent wants to call the tool ${JSON.stringify(call.toolName)}.`,
    ...membersOf(call),
    ...(isEditable && { editable: true }),
  };
}

function callOf(call: ToolCallPart, key: string): Question {
  const message = `Call the tool ${JSON.stringify(call.toolName)}, and answer with its result.`;
  return { key, kind: 'tool', message, ...membersOf(call) };
}

function membersOf({ toolCallId, toolName, input }: ToolCallPart) {
  return { toolCallId, name: toolName, arguments: input ?? {} };
}

function isRequestFor({ toolCallId }: ToolCallPart, part: MessagePart): boolean {
  if (part.type !== 'tool-approval-request' || part.toolCallId !== toolCallId) return false;
  // Version 7 of the SDK shows what its own rules have decided.
  return (part as { isAutomatic?: boolean }).isAutomatic !== true;
}

function isSameCall({ toolCallId }: ToolCallPart, part: MessagePart): boolean {
  return part.type === 'tool-call' && part.toolCallId === toolCallId;
}

/** A part of a message. */
export type MessagePart = Exclude<ModelMessage['content'], string>[number];

/** The parts of a message; none if it is a text, or there is none. */
export function partsOf(message: ModelMessage | undefined): MessagePart[] {
  return message && typeof message.content !== 'string' ? message.content : [];
}
