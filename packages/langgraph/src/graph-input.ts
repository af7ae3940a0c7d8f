import { type BaseMessage, ToolMessage } from '@langchain/core/messages';
import type { Envelope, Query, QueryContext, Turn } from 'nest-agent-query';
import type { GraphMessage } from './answer-reader.js';
import { idOf, messagesOf } from './conversation.js';
import type { LangGraphSettings } from './graph-options.js';
import type { ThreadState } from './thread.js';

/**
 * What a graph is given for a query, and what callers are told of it. What an earlier run has asked is no longer open.
 *
 * @param state of the thread; undefined if the graph does not know the session
 * @param failed the newest turns, which were taken back from the thread
 * @throws {QueryError} `limit_exceeded`: a file is too large for a model
 */
export async function inputOf<K extends object>(
  query: Query<K>,
  context: QueryContext,
  state: ThreadState | undefined,
  failed: readonly Turn[],
  settings: LangGraphSettings<K>,
): Promise<{ input: unknown; notes: Envelope[] }> {
  const history = state ? failed : context.history;
  const { messages: asked, notes } = await messagesOf(query, context, settings, history);
  const messages = state ? [...missingResults(state.messages, context.runId), ...asked] : asked;
  const input = settings.input ? await settings.input(messages, query, context) : { messages };
  return { input, notes };
}

/** Results for the calls of a run that was cut off: models refuse a conversation that has a call without a result. */
function missingResults(messages: GraphMessage[], runId: string): BaseMessage[] {
  const last = messages.findLastIndex((message) => message.getType() === 'ai');
  const after = messages.slice(last + 1);
  // Where the conversation went on after the call, nothing can be put behind it any more.
  if (last === -1 || after.some((message) => message.getType() !== 'tool')) return [];
  const results = new Set(after.map(({ tool_call_id: id }) => id));
  const missing = (messages[last]!.tool_calls ?? []).filter(({ id }) => !results.has(id));
  if (missing.length === 0) return [];
  return missing.map(
    ({ id = '', name }, index) =>
      new ToolMessage({
        content: 'The call was cut off, and has no result.',
        tool_call_id: id,
        name,
        status: 'error',
        id: idOf(runId, index + 1),
      }),
  );
}
