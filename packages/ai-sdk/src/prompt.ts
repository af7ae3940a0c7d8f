import type { AssistantContent, JSONValue, ModelMessage } from 'ai';
import type { Envelope, Query, QueryContext } from 'nest-agent-query';
import { type ConversationStep, type ModelPart, readConversation } from 'nest-agent-query-adapters';
import type { AiSdkSettings } from './ai-sdk-options.js';

/**
 * Makes messages of a query and the turns before it.
 *
 * @returns the messages, and what callers are told of them
 * @throws {QueryError} `limit_exceeded`: a file is too large for a model
 */
export async function promptOf(
  query: Query,
  context: QueryContext,
  settings: AiSdkSettings,
): Promise<{ messages: ModelMessage[]; notes: Envelope[] }> {
  const options = { ...settings, showsAnswerFiles: true };
  const { turns, question, notes } = await readConversation(query, context, options);
  const messages = turns.flatMap(({ parts, steps }) => [userMessage(parts), ...steps.flatMap(stepMessages)]);
  return { messages: [...messages, userMessage(question)], notes };
}

function userMessage(parts: ModelPart[]): ModelMessage {
  return { role: 'user', content: parts.map(contentOf) };
}

function contentOf(part: ModelPart) {
  if (part.type === 'text') return part;
  return { type: 'file' as const, data: part.bytes, mediaType: part.mimeType, filename: part.name };
}

function stepMessages({ text, files, calls }: ConversationStep): ModelMessage[] {
  const content: Exclude<AssistantContent, string> = text === '' ? [] : [{ type: 'text', text }];
  content.push(...files.map(contentOf));
  for (const { id, name, arguments: input } of calls)
    content.push({ type: 'tool-call', toolCallId: id, toolName: name, input });
  const results = calls.map(({ id, name, result, isError }) => ({
    type: 'tool-result' as const,
    toolCallId: id,
    toolName: name,
    output: outputOf(result, isError),
  }));
  return [
    { role: 'assistant', content },
    ...(results.length > 0 ? [{ role: 'tool' as const, content: results }] : []),
  ];
}

function outputOf(result: unknown, isError: boolean) {
  if (typeof result === 'string')
    return { type: isError ? ('error-text' as const) : ('text' as const), value: result };
  return { type: isError ? ('error-json' as const) : ('json' as const), value: result as JSONValue };
}
