import { Buffer } from 'node:buffer';
import type { AgentInputItem, UserMessageItem } from '@openai/agents';
import type { Envelope, Query, QueryContext } from 'nest-agent-query';
import {
  type AdapterSettings,
  type AnsweredCall,
  callId,
  type ConversationStep,
  type ModelPart,
  openTurns,
  readConversation,
} from 'nest-agent-query-adapters';

type Content = Exclude<UserMessageItem['content'], string>[number];

/**
 * Makes the input of an agent of a query and, unless the agent remembers them, of the turns before it. A memory does not have
 * the turns after the newest one that was completed.
 *
 * @returns the input, and what callers are told of it
 * @throws {QueryError} `limit_exceeded`: a file is too large for a model
 */
export async function itemsOf(
  query: Pick<Query, 'parts'>,
  context: QueryContext,
  settings: AdapterSettings,
  knowsSession: boolean,
): Promise<{ items: AgentInputItem[]; notes: Envelope[] }> {
  const history = knowsSession ? openTurns(context.history) : context.history;
  const { turns, question, notes } = await readConversation(query, context, { ...settings, history });
  const earlier = turns.flatMap(({ runId, parts, steps }) => [
    userItem(parts),
    ...steps.flatMap((step) => stepItems(runId, step)),
  ]);
  return { items: [...earlier, userItem(question)], notes };
}

function userItem(parts: ModelPart[]): UserMessageItem {
  return { type: 'message', role: 'user', content: parts.map(contentOf) };
}

function contentOf(part: ModelPart): Content {
  if (part.type === 'text') return { type: 'input_text', text: part.text };
  const { name, mimeType, bytes } = part;
  const base64 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  if (mimeType.startsWith('image/'))
    return { type: 'input_image', image: `data:${mimeType};base64,${base64}` };
  if (mimeType.startsWith('audio/')) return { type: 'audio', audio: base64, format: audioFormat(mimeType) };
  return { type: 'input_file', file: `data:${mimeType};base64,${base64}`, filename: name };
}

/** What the agent has said and done at once in an earlier turn. */
function stepItems(runId: string, step: ConversationStep): AgentInputItem[] {
  return [
    ...saidItems(step),
    ...step.calls.map((call) => callItem(runId, call)),
    ...step.calls.map((call) => resultItem(runId, call)),
  ];
}

/** Models take no files of their own: there are texts in their places. */
function saidItems({ text, files }: ConversationStep): AgentInputItem[] {
  const texts = [text, ...files.map((file) => (file.type === 'text' ? file.text : ''))];
  const content = texts
    .filter((each) => each !== '')
    .map((each) => ({ type: 'output_text' as const, text: each }));
  if (content.length === 0) return [];
  return [{ type: 'message', role: 'assistant', status: 'completed', content }];
}

function callItem(runId: string, { id, name, arguments: args }: AnsweredCall): AgentInputItem {
  const text = JSON.stringify(args);
  return { type: 'function_call', callId: callId(runId, id), name, arguments: text, status: 'completed' };
}

function resultItem(runId: string, { id, name, result }: AnsweredCall): AgentInputItem {
  const output = typeof result === 'string' ? result : JSON.stringify(result);
  return {
    type: 'function_call_result',
    callId: callId(runId, id),
    name,
    status: 'completed',
    output,
  };
}

/** The name that endpoints have for a type of sound, such as `mp3` for `audio/mpeg`. */
function audioFormat(mimeType: string): string {
  const [, subtype = ''] = mimeType.split('/');
  return subtype === 'mpeg' ? 'mp3' : subtype.replace(/^(?:x-|vnd\.)/, '').replace(/^wave$/, 'wav');
}
