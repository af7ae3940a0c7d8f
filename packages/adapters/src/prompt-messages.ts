import type { Conversation, ConversationStep } from './conversation.js';
import type { ModelPart } from './model-parts.js';

/** A message in the form of the AI SDK from version 5 on, which other frameworks take too. */
export interface PromptMessage {
  role: 'user' | 'assistant' | 'tool';
  content: PromptPart[];
}

/** A part of such a message. */
export type PromptPart =
  | { type: 'text' | 'reasoning'; text: string }
  | { type: 'file'; data: Uint8Array; mediaType: string; filename: string }
  | { type: 'tool-call'; toolCallId: string; toolName: string; input: unknown }
  | { type: 'tool-result'; toolCallId: string; toolName: string; output: { type: string; value: unknown } };

/** Makes the id of a call in a message, of the id of its run and its own. */
type IdOf = (runId: string, id: string) => string;

/**
 * A conversation as messages in the form of the AI SDK.
 *
 * @param idOf makes the ids of calls, as `callId` does. Default: they stay as they are
 *
 * @example
 * const messages = promptMessages(await readConversation(query, context, settings), callId);
 */
export function promptMessages(
  { turns, question }: Pick<Conversation, 'turns' | 'question'>,
  idOf?: IdOf,
): PromptMessage[] {
  const earlier = turns.flatMap(({ runId, parts, steps }) => [
    userMessage(parts),
    ...steps.flatMap((step) => stepMessages(runId, step, idOf)),
  ]);
  return [...earlier, userMessage(question)];
}

/**
 * A step of an answer as messages in the form of the AI SDK: what the model has said and called, and the results.
 *
 * @param idOf makes the ids of calls, as `callId` does. Default: they stay as they are
 *
 * @example
 * const done = answerSteps({ envelopes }).flatMap((step) => stepMessages(runId, { ...step, files: [] }, callId));
 */
export function stepMessages(
  runId: string,
  { text, reasoning, files, calls }: ConversationStep,
  idOf: IdOf = (_, id) => id,
): PromptMessage[] {
  const content: PromptPart[] = reasoning === undefined ? [] : [{ type: 'reasoning', text: reasoning }];
  if (text !== '') content.push({ type: 'text', text });
  content.push(...files.map(partOf));
  const results: PromptPart[] = [];
  for (const { id, name: toolName, arguments: input, result, isError } of calls) {
    const toolCallId = idOf(runId, id);
    content.push({ type: 'tool-call', toolCallId, toolName, input });
    const type = `${isError ? 'error-' : ''}${typeof result === 'string' ? 'text' : 'json'}`;
    results.push({ type: 'tool-result', toolCallId, toolName, output: { type, value: result } });
  }
  const said: PromptMessage = { role: 'assistant', content };
  return results.length > 0 ? [said, { role: 'tool', content: results }] : [said];
}

function userMessage(parts: ModelPart[]): PromptMessage {
  return { role: 'user', content: parts.map(partOf) };
}

function partOf(part: ModelPart): PromptPart {
  if (part.type === 'text') return part;
  return { type: 'file', data: part.bytes, mediaType: part.mimeType, filename: part.name };
}
