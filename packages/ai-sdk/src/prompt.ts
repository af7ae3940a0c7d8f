import type { ModelMessage } from 'ai';
import type { Envelope, Query, QueryContext } from 'nest-agent-query';
import { promptMessages, readConversation } from 'nest-agent-query-adapters';
import type { AiSdkSettings } from './ai-sdk-options.js';

/**
 * Makes messages of a query and the turns before it.
 *
 * @returns the messages, and what callers are told of them
 * @throws {QueryError} `limit_exceeded`: a file is too large for a model
 */
export async function promptOf(
  query: Pick<Query, 'parts'>,
  context: QueryContext,
  settings: AiSdkSettings,
): Promise<{ messages: ModelMessage[]; notes: Envelope[] }> {
  const conversation = await readConversation(query, context, { ...settings, showsAnswerFiles: true });
  return { messages: promptMessages(conversation) as ModelMessage[], notes: conversation.notes };
}
