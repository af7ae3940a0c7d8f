import { Buffer } from 'node:buffer';
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import type { Envelope, Query, QueryContext, Turn } from 'nest-agent-query';
import {
  type AdapterSettings,
  type ConversationStep,
  answerSteps,
  callId,
  type ModelPart,
  openTurns,
  readConversation,
} from 'nest-agent-query-adapters';
import { type Block, kindOf } from './content-pieces.js';
import { toolText } from './tool-content.js';

const FILE_BEFORE: ModelPart = { type: 'text', text: 'A file of the answer before:' };

/**
 * Makes messages of LangChain of a query and of the turns that the graph does not know.
 *
 * @returns the messages, and what callers are told of them
 * @throws {QueryError} `limit_exceeded`: a file is too large for a model
 */
export async function messagesOf(
  query: Pick<Query, 'parts'>,
  context: QueryContext,
  settings: AdapterSettings,
  history: readonly Turn[],
): Promise<{ messages: BaseMessage[]; notes: Envelope[] }> {
  const options = { ...settings, history, showsAnswerFiles: true };
  const { turns, question, notes } = await readConversation(query, context, options);
  const messages: BaseMessage[] = [];
  // Most models take files from the user only: those of an answer come with the next question.
  let files: ModelPart[] = [];
  const ask = (runId: string, parts: ModelPart[]) =>
    messages.push(
      new HumanMessage({ content: contentOf([...files, ...parts].map(blockOf)), id: idOf(runId, 0) }),
    );
  for (const { runId, parts, steps } of turns) {
    ask(runId, parts);
    messages.push(...answerMessages(runId, steps));
    files = steps.flatMap((step) => step.files.flatMap((file) => [FILE_BEFORE, file]));
  }
  ask(context.runId, question);
  return { messages, notes };
}

function answerMessages(runId: string, steps: ConversationStep[]): BaseMessage[] {
  const messages: BaseMessage[] = [];
  for (const { text, calls } of steps) {
    const tool_calls = calls.map(({ id, name, arguments: args }) => ({
      type: 'tool_call' as const,
      id: callId(runId, id),
      name,
      args,
    }));
    messages.push(new AIMessage({ content: text, tool_calls, id: idOf(runId, messages.length + 1) }));
    for (const { id, name, result, isError } of calls) {
      const status = isError ? 'error' : 'success';
      const fields = { content: toolText(result), tool_call_id: callId(runId, id), name, status } as const;
      messages.push(new ToolMessage({ ...fields, id: idOf(runId, messages.length + 1) }));
    }
  }
  return messages;
}

/** The id of a message that the adapter makes: the run of its turn, and its place there. */
export function idOf(runId: string, index: number): string {
  return `${runId}:${index}`;
}

/** Whether the adapter has made a message, and not the graph. */
export function isGiven(id: string | undefined, { history, runId }: QueryContext): boolean {
  return isOfRun(id, runId) || history.some((turn) => isOfRun(id, turn.runId));
}

/** Whether the adapter has made a message of a run. */
export function isOfRun(id: string | undefined, runId: string): boolean {
  const end = id?.lastIndexOf(':') ?? -1;
  return end !== -1 && id!.slice(0, end) === runId;
}

/**
 * The newest turns, if one of them failed in such a way that a model may refuse each request that has it: before its answer, or with
 * a file. After any other failure, the graph goes on with what it has done.
 */
export function turnsWithFailure(history: readonly Turn[]): Turn[] {
  const open = openTurns(history);
  const isRefused = (turn: Turn) =>
    turn.end.status === 'failed' && (answerSteps(turn).length === 0 || hasFiles(turn));
  return open.some(isRefused) ? open : [];
}

function hasFiles({ parts, envelopes }: Turn): boolean {
  return [...parts, ...envelopes].some(({ type }) => type === 'file');
}

/** A list with one text is a text: every model takes that. */
function contentOf(blocks: Block[]): string {
  const [only, ...more] = blocks;
  const content = only?.['type'] === 'text' && more.length === 0 ? only['text'] : blocks;
  // The types of LangChain do not have all blocks that its packages take.
  return content as string;
}

function blockOf(part: ModelPart): Block {
  if (part.type === 'text') return { type: 'text', text: part.text };
  const { name, mimeType, bytes } = part;
  return {
    type: kindOf(mimeType),
    source_type: 'base64',
    mime_type: mimeType,
    data: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64'),
    // Each package of a provider looks for one of these.
    metadata: { filename: name, name, title: name },
  };
}
