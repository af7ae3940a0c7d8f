import { Buffer } from 'node:buffer';
import type { Envelope, Query, QueryContext } from 'nest-agent-query';
import { type ConversationStep, type ModelPart, readConversation } from 'nest-agent-query-adapters';
import type { ClaudeAgentSettings } from './claude-agent-options.js';
import type { ClaudeBlock } from './sdk.js';

/** What the model reads where a run goes on. */
export const GO_ON: ClaudeBlock[] = [{ type: 'text', text: 'Continue from where you left off.' }];

/**
 * The query as the parts of a message.
 *
 * @param knowsHistory whether Claude Code has the earlier turns: otherwise they are told as a text
 */
export async function promptOf<K extends object>(
  query: Query<K>,
  context: QueryContext,
  settings: ClaudeAgentSettings<K>,
  knowsHistory: boolean,
): Promise<{ blocks: ClaudeBlock[]; notes: Envelope[] }> {
  const history = knowsHistory ? { history: [] } : {};
  const { turns, question, notes } = await readConversation(query, context, { ...settings, ...history });
  const earlier = turns.flatMap(({ parts, steps }) => [
    text('The user said:'),
    ...parts.map(blockOf),
    ...steps.flatMap(stepOf),
  ]);
  const told =
    earlier.length > 0 ? [text('The conversation until now:'), ...earlier, text('Now the user says:')] : [];
  return { blocks: [...told, ...question.map(blockOf)], notes };
}

function stepOf({ text: said, files, calls }: ConversationStep): ClaudeBlock[] {
  const made = calls.map(({ name, arguments: args, result, isError }) => {
    const outcome = isError ? 'failed with' : 'returned';
    return text(`You called ${name} with ${JSON.stringify(args)}. It ${outcome}: ${JSON.stringify(result)}`);
  });
  return [...(said === '' ? [] : [text(`You said: ${said}`)]), ...files.map(blockOf), ...made];
}

function text(content: string): ClaudeBlock {
  return { type: 'text', text: content };
}

function blockOf(part: ModelPart): ClaudeBlock {
  if (part.type === 'text') return text(part.text);
  const data = Buffer.from(part.bytes).toString('base64');
  const source = { type: 'base64' as const, media_type: part.mimeType, data };
  return part.mimeType.startsWith('image/')
    ? { type: 'image', source }
    : { type: 'document', source, title: part.name };
}
