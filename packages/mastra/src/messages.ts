import type { Envelope, Query, QueryContext } from 'nest-agent-query';
import {
  answerSteps,
  callId,
  type PromptMessage,
  promptMessages,
  readConversation,
  stepMessages,
} from 'nest-agent-query-adapters';
import type { MastraSettings } from './mastra-options.js';

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
): Promise<{ messages: PromptMessage[]; notes: Envelope[] }> {
  const history = hasMemory ? [] : context.history;
  const conversation = await readConversation(query, context, { ...settings, history });
  return { messages: promptMessages(conversation, callId), notes: conversation.notes };
}

/** What an agent has said and done in a run, as messages. */
export function answerMessages(runId: string, envelopes: Envelope[]): PromptMessage[] {
  return answerSteps({ envelopes }).flatMap((step) => stepMessages(runId, { ...step, files: [] }, callId));
}
