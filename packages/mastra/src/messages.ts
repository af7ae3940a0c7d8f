import type { Envelope, Query, QueryContext, Turn } from 'nest-agent-query';
import {
  type AdapterSettings,
  answerSteps,
  callId,
  openTurns,
  type PromptMessage,
  promptMessages,
  readConversation,
  stepMessages,
} from 'nest-agent-query-adapters';

/**
 * Makes messages of a query and, unless the agent remembers them, of the turns before it. The framework saves what a run has said
 * when that is completed, so a memory does not have the turns after it.
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
  const history = knowsSession ? openTurns(context.history).filter(hasNotAsked) : context.history;
  const conversation = await readConversation(query, context, { ...settings, history });
  return { messages: promptMessages(conversation, callId), notes: conversation.notes };
}

/** What an agent has said and done in a run, as messages. */
export function answerMessages(runId: string, envelopes: Envelope[]): PromptMessage[] {
  return answerSteps({ envelopes }).flatMap(({ text, calls }) =>
    stepMessages(runId, { text, calls, files: [] }, callId),
  );
}

/** A memory has the question of a run that has asked: the framework saves it before it waits. */
function hasNotAsked({ envelopes }: Turn): boolean {
  return envelopes.every(({ type }) => type !== 'input_required');
}
