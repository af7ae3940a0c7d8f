import type { Envelope, Query, QueryContext } from 'nest-agent-query';
import {
  answerSteps,
  callId,
  type ConversationStep,
  type ModelPart,
  readConversation,
} from 'nest-agent-query-adapters';
import type { MastraSettings } from './mastra-options.js';

/** A message in the form of the AI SDK, which all versions of Mastra take. */
export interface Message {
  role: 'user' | 'assistant' | 'tool';
  content: MessagePart[];
}

type MessagePart =
  | { type: 'text'; text: string }
  | { type: 'file'; data: Uint8Array; mediaType: string; filename: string }
  | { type: 'tool-call'; toolCallId: string; toolName: string; input: unknown }
  | { type: 'tool-result'; toolCallId: string; toolName: string; output: { type: string; value: unknown } };

/**
 * Makes messages of a query and, unless the agent remembers them, of the turns before it.
 *
 * @returns the messages, and what callers are told of them
 * @throws {QueryError} `limit_exceeded`: a file is too large for a model
 */
export async function messagesOf(
  query: Query,
  context: QueryContext,
  settings: MastraSettings,
  hasMemory: boolean,
): Promise<{ messages: Message[]; notes: Envelope[] }> {
  const history = hasMemory ? [] : context.history;
  const { turns, question, notes } = await readConversation(query, context, { ...settings, history });
  const earlier = turns.flatMap(({ runId, parts, steps }) => [
    userMessage(parts),
    ...steps.flatMap((step) => stepMessages(runId, step)),
  ]);
  return { messages: [...earlier, userMessage(question)], notes };
}

/** What an agent has said and done in a run, as messages. */
export function answerMessages(runId: string, envelopes: Envelope[]): Message[] {
  return answerSteps({ envelopes }).flatMap((step) => stepMessages(runId, { ...step, files: [] }));
}

function userMessage(parts: ModelPart[]): Message {
  return { role: 'user', content: parts.map(contentOf) };
}

function contentOf(part: ModelPart): MessagePart {
  if (part.type === 'text') return part;
  return { type: 'file', data: part.bytes, mediaType: part.mimeType, filename: part.name };
}

function stepMessages(runId: string, { text, files, calls }: ConversationStep): Message[] {
  const content: MessagePart[] = text === '' ? [] : [{ type: 'text', text }];
  content.push(...files.map(contentOf));
  const results: MessagePart[] = [];
  for (const { id, name: toolName, arguments: input, result, isError } of calls) {
    const toolCallId = callId(runId, id);
    content.push({ type: 'tool-call', toolCallId, toolName, input });
    const isText = typeof result === 'string';
    const type = isError ? (isText ? 'error-text' : 'error-json') : isText ? 'text' : 'json';
    results.push({ type: 'tool-result', toolCallId, toolName, output: { type, value: result } });
  }
  return [
    { role: 'assistant', content },
    ...(results.length > 0 ? [{ role: 'tool' as const, content: results }] : []),
  ];
}
