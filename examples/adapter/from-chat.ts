/** An example of an adapter: it makes a handler of a client of a chat model. */
import { type Envelope, type HandlerFunction, message, toolCall, toolResult } from 'nest-agent-query';
import * as kit from 'nest-agent-query-adapters';

/** What the client takes. */
export type ChatMessage =
  | { role: 'user'; content: kit.ModelPart[] }
  | { role: 'assistant'; content: string; calls: { id: string; name: string; input: object }[] }
  | { role: 'tool'; id: string; content: unknown };

/** What the client streams. `finish` is the last chunk of a whole answer. */
export type ChatChunk =
  | { type: 'text'; text: string }
  | { type: 'tool'; id: string; name: string; input: object; execute: () => Promise<unknown> }
  | { type: 'finish'; inputTokens: number; outputTokens: number };

export type ChatClient = (messages: ChatMessage[], signal: AbortSignal) => AsyncIterable<ChatChunk>;

export function fromChat(chat: ChatClient, options: kit.AdapterOptions = {}): HandlerFunction {
  const settings = kit.adapterSettings(options, { inputs: ['image'] });
  return async function* handle(query, context): AsyncGenerator<Envelope> {
    // The files that the model takes, the texts of the others, and as many earlier turns as `contextTokens` allows.
    const { turns, question, notes } = await kit.readConversation(query, context, settings);
    yield* notes;
    const history = turns.flatMap(({ runId, parts, steps }): ChatMessage[] => [
      { role: 'user', content: parts },
      ...steps.flatMap((step) => messagesOf(runId, step)),
    ]);
    let hasBegun = false;
    let hasFinished = false;
    try {
      for await (const chunk of chat([...history, { role: 'user', content: question }], context.signal)) {
        hasBegun = true;
        if (chunk.type === 'text') yield message(chunk.text);
        if (chunk.type === 'tool') {
          yield toolCall(chunk.id, chunk.name, chunk.input);
          yield await resultOf(chunk, context.runId);
        }
        if (chunk.type !== 'finish') continue;
        hasFinished = true;
        const used = kit.modelUsage(chunk);
        if (used) yield used;
      }
    } catch (error) {
      // The caller reads what the failure means: too many requests, too long, not reachable. The log gets the cause.
      throw kit.modelFailure(error, hasBegun) ?? error;
    }
    if (!hasFinished && !context.signal.aborted) throw kit.cutModel();
  };
}

async function resultOf(call: ChatChunk & { type: 'tool' }, runId: string): Promise<Envelope> {
  try {
    return toolResult(call.id, kit.shownResult(await call.execute()));
  } catch (error) {
    return toolResult(call.id, kit.toolFailure(runId, call.name, error), { isError: true });
  }
}

/** Ids of calls must differ from those of other runs: some models number them from 0 in each answer. */
function messagesOf(runId: string, { text, calls }: kit.ConversationStep): ChatMessage[] {
  const named = calls.map((call) => ({ ...call, id: kit.callId(runId, call.id) }));
  return [
    {
      role: 'assistant',
      content: text,
      calls: named.map(({ id, name, arguments: input }) => ({ id, name, input })),
    },
    ...named.map(({ id, result }): ChatMessage => ({ role: 'tool', id, content: result })),
  ];
}
