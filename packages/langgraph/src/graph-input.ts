import { type BaseMessage, ToolMessage } from '@langchain/core/messages';
import { Command } from '@langchain/langgraph';
import { type Envelope, newestText, type Query, type QueryContext } from 'nest-agent-query';
import type { GraphMessage } from './answer-reader.js';
import { idOf, messagesOf } from './conversation.js';
import { nothingToResume } from './failures.js';
import type { GraphInterrupt, LangGraphSettings } from './graph-options.js';
import type { ThreadState } from './thread.js';

/**
 * What a graph is given for a query: its input, or the answer to what it has asked; and what callers are told of it.
 *
 * @param state of the thread; undefined if the graph does not know the session
 * @throws {QueryError} `invalid_query`: the query answers a question that the graph has not asked
 */
export async function inputOf<K extends object>(
  query: Query<K>,
  context: QueryContext,
  state: ThreadState | undefined,
  settings: LangGraphSettings<K>,
): Promise<{ input: unknown; notes?: Envelope[] }> {
  const answer = (query.kwargs as Record<string, unknown>)['resume'];
  if (answer !== undefined) {
    // A graph also stops where it was told so, without a question.
    if (!state?.isOpen) throw nothingToResume();
    return resume(answer);
  }
  if (state && state.questions.length > 0) return resume(answerOf(state.questions, newestText(query)));
  const history = state ? [] : context.history;
  const { messages: asked, notes } = await messagesOf(query, context, settings, history);
  const messages = state ? [...missingResults(state.messages, context.runId), ...asked] : asked;
  const input = settings.input ? await settings.input(messages, query, context) : { messages };
  return { input, notes };
}

/** A text answers the oldest question. The graph asks the others again. */
function answerOf([{ id } = {}, ...more]: GraphInterrupt[], text: string): unknown {
  return more.length > 0 && id !== undefined ? { [id]: text } : text;
}

function resume(answer: unknown): { input: unknown } {
  return { input: new Command({ resume: answer }) };
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
