import type { Envelope, QueryContext, Turn } from 'nest-agent-query';
import { type ConversationStep, type ModelPart, readConversation } from 'nest-agent-query-adapters';

/** About what fits into the prompt of any model. */
const HISTORY_TOKENS = 50_000;
const RESULT_LENGTH = 2_000;

/** The earlier turns as a text, for an agent that does not remember them. */
export interface HistoryText {
  /** Undefined if there are none. */
  text: string | undefined;
  /** What callers are told: that the oldest turns are left out. */
  notes: Envelope[];
}

export async function historyText(history: readonly Turn[], context: QueryContext): Promise<HistoryText> {
  const settings = { inputs: [], contextTokens: HISTORY_TOKENS };
  const { turns, question, notes } = await readConversation({ parts: [] }, context, { ...settings, history });
  const said = turns.map(({ parts, steps }) => `${asked(parts)}\n\n${steps.map(answered).join('\n')}`);
  // Questions that were cancelled before their answer.
  if (question.length > 0) said.push(asked(question));
  if (said.length === 0) return { text: undefined, notes };
  const before = 'You do not remember this conversation. This is what was said before, the oldest first:';
  const after = 'Go on with what the user says now:';
  return { text: [before, ...said, after].join('\n\n'), notes };
}

function asked(parts: ModelPart[]): string {
  return `The user: ${textOf(parts)}`;
}

function answered({ text, files, calls }: ConversationStep): string {
  const said = text === '' ? [] : [`You: ${text}`];
  const called = calls.map(({ name, arguments: args, result }) => {
    return `[You called ${name} with ${cut(args)}. The result was ${cut(result)}]`;
  });
  return [...said, ...(files.length > 0 ? [textOf(files)] : []), ...called].join('\n');
}

function textOf(parts: ModelPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : part.name)).join('\n');
}

function cut(value: unknown): string {
  const json = JSON.stringify(value) ?? 'null';
  return json.length > RESULT_LENGTH ? `${json.slice(0, RESULT_LENGTH)}…` : json;
}
