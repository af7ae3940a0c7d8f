import type { FieldError } from 'nest-agent-query';
import { invalidQuery } from 'nest-agent-query/protocol';
import { isObject } from '../view/json.js';

/** A message of the client's history. What it says of calls and answers does not count. */
export interface InputMessage {
  id?: unknown;
  role: string;
  content?: unknown;
  toolCallId?: unknown;
  error?: unknown;
}

/** An answer to an interrupt. */
export interface ResumeEntry {
  interruptId: string;
  status: 'resolved' | 'cancelled';
  payload?: unknown;
}

/** What a run begins with (`RunAgentInput`), as far as it is used. */
export interface RunInput {
  threadId: string;
  runId: string;
  parentRunId: string | undefined;
  messages: InputMessage[];
  resume: ResumeEntry[];
  /** Whether the client names no version, as those before 1.0. */
  isBefore1: boolean;
  /** For the handler: `forwardedProps`, and what else the input has for it. */
  kwargs: Record<string, unknown>;
}

/** Names of threads and runs are kept with runs. */
const NAME_LENGTH = 255;

/** @throws {QueryError} `invalid_query` with every fault */
export function runInputOf(body: unknown): RunInput {
  if (!isObject(body)) throw invalidQuery([{ pointer: '', detail: 'must be an object: a RunAgentInput' }]);
  const { threadId, runId, parentRunId, messages, resume, protocolVersion } = body;
  const faults = [
    ...faultsOfName(threadId, '/threadId'),
    ...faultsOfName(runId, '/runId'),
    ...(isListOf(messages, isMessage)
      ? []
      : [{ pointer: '/messages', detail: 'must be an array of messages' }]),
    ...(isListOf(resume ?? [], isResumeEntry) ? [] : [{ pointer: '/resume', detail: RESUME_FAULT }]),
  ];
  if (faults.length > 0) throw invalidQuery(faults);
  return {
    threadId: threadId as string,
    runId: runId as string,
    parentRunId: typeof parentRunId === 'string' ? parentRunId : undefined,
    messages: messages as InputMessage[],
    resume: (resume ?? []) as ResumeEntry[],
    isBefore1: protocolVersion === undefined,
    kwargs: kwargsOf(body),
  };
}

const RESUME_FAULT =
  'must be an array of answers: {"interruptId", "status": "resolved" or "cancelled", "payload"}';

/** `forwardedProps` come first: the rest is there for handlers that know AG-UI, or bring tools of the caller to a model. */
function kwargsOf({
  threadId,
  tools,
  state,
  context,
  forwardedProps,
}: Record<string, unknown>): RunInput['kwargs'] {
  return {
    ...(isListOf(tools, isObject) && tools.length > 0 && { tools: tools.map(toolOf) }),
    ...(hasContent(state) && { state }),
    ...(hasContent(context) && { context }),
    ...(isObject(forwardedProps) && forwardedProps),
    session_id: threadId,
  };
}

/** A tool of the client, as agents take the tools of callers. */
function toolOf({ name, description, parameters = { type: 'object' } }: Record<string, unknown>) {
  return { name, description, inputSchema: parameters };
}

function faultsOfName(value: unknown, pointer: string): FieldError[] {
  if (typeof value === 'string' && value !== '' && value.length <= NAME_LENGTH) return [];
  return [{ pointer, detail: `must be a string of 1 to ${NAME_LENGTH} characters` }];
}

function isMessage(value: unknown): value is InputMessage {
  return isObject(value) && typeof value['role'] === 'string';
}

function isResumeEntry(value: unknown): value is ResumeEntry {
  if (!isObject(value)) return false;
  const { interruptId, status } = value;
  return typeof interruptId === 'string' && (status === 'resolved' || status === 'cancelled');
}

function isListOf<T>(value: unknown, isItem: (item: unknown) => item is T): value is T[] {
  return Array.isArray(value) && value.every(isItem);
}

/** Clients send an empty state and an empty context where there is none. */
function hasContent(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return value !== undefined && value !== null;
}
