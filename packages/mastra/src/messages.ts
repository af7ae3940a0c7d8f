import type { Envelope, Query, QueryContext } from 'nest-agent-query';
import {
  type AdapterSettings,
  answerSteps,
  callId,
  type PromptMessage,
  promptMessages,
  readConversation,
  stepMessages,
} from 'nest-agent-query-adapters';

/**
 * Makes messages of a query and, unless the agent remembers them, of the turns before it.
 *
 * @returns the messages, and what callers are told of them
 * @throws {QueryError} `limit_exceeded`: a file is too large for a model
 */
export async function messagesOf(
  query: Pick<Query, 'parts'>,
  context: QueryContext,
  settings: AdapterSettings,
  knowsSession: boolean,
): Promise<{ messages: PromptMessage[]; notes: Envelope[] }> {
  const history = knowsSession ? [] : context.history;
  const conversation = await readConversation(query, context, { ...settings, history });
  return { messages: promptMessages(conversation, callId), notes: conversation.notes };
}

/** What an agent has said and done in a run, as messages. */
export function answerMessages(runId: string, envelopes: Envelope[]): PromptMessage[] {
  return answerSteps({ envelopes }).flatMap((step) => stepMessages(runId, { ...step, files: [] }, callId));
}
