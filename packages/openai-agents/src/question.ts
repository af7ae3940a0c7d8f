import { createHash } from 'node:crypto';
import { Buffer } from 'node:buffer';
import type { AgentInputItem, UserMessageItem } from '@openai/agents';
import type { FilePart, Query, QueryContext, QueryPart, Turn, TurnFile } from 'nest-agent-query';
import {
  type AnsweredCall,
  type AnswerStep,
  answerSteps,
  FileContents,
  historyFile,
} from 'nest-agent-query/adapters';
import type { OpenAIAgentsSettings } from './openai-agents-options.js';

type Content = Exclude<UserMessageItem['content'], string>[number];

/** Makes the input of an agent of a query and of the turns before it. */
export class QuestionReader {
  readonly #contents: FileContents;

  constructor(
    private readonly context: QueryContext,
    { inputs, textOfFile }: Pick<OpenAIAgentsSettings, 'inputs' | 'textOfFile'>,
  ) {
    this.#contents = new FileContents(inputs, textOfFile && ((part) => textOfFile(part, context)));
  }

  /**
   * @param hasHistory whether the earlier turns are part of it
   * @throws {QueryError} `limit_exceeded`: a file is too large for a model
   */
  async read({ parts }: Query, hasHistory: boolean): Promise<AgentInputItem[]> {
    const question = await this.#userItem(parts);
    const items: AgentInputItem[] = [];
    for (const turn of hasHistory ? this.context.history : [])
      items.push(await this.#userItem(turn.parts), ...answerItems(turn));
    return [...items, question];
  }

  async #userItem(parts: (QueryPart | Turn['parts'][number])[]): Promise<UserMessageItem> {
    const content: Content[] = [];
    for (const part of parts) {
      if (part.type === 'text') content.push({ type: 'input_text', text: part.text });
      else content.push('file' in part ? await this.#file(part) : await this.#earlierFile(part));
    }
    return { type: 'message', role: 'user', content };
  }

  async #file(part: FilePart): Promise<Content> {
    const file = await this.#contents.of(part);
    if (file.type === 'text') return { type: 'input_text', text: file.text };
    const { name, mimeType, bytes } = file;
    const base64 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
    if (mimeType.startsWith('image/'))
      return { type: 'input_image', image: `data:${mimeType};base64,${base64}` };
    if (mimeType.startsWith('audio/')) return { type: 'audio', audio: base64, format: audioFormat(mimeType) };
    return { type: 'input_file', file: `data:${mimeType};base64,${base64}`, filename: name };
  }

  async #earlierFile(file: TurnFile): Promise<Content> {
    const part = this.#contents.hasRoomFor(file.size) ? await historyFile(this.context, file) : undefined;
    if (part) return this.#file(part);
    return { type: 'input_text', text: `[The file ${JSON.stringify(file.name)} is not shown again.]` };
  }
}

/** What the agent has said and done in an earlier turn. */
function answerItems(turn: Turn): AgentInputItem[] {
  return answerSteps(turn).flatMap((step) => [
    ...saidItems(step),
    ...step.calls.map((call) => callItem(turn.runId, call)),
    ...step.calls.map((call) => resultItem(turn.runId, call)),
  ]);
}

/** Models take no files of their own. */
function saidItems({ text, files }: AnswerStep): AgentInputItem[] {
  const texts = [text, ...files.map(({ name }) => `[You have made the file ${JSON.stringify(name)}.]`)];
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

/** Some models number their calls from the beginning in each answer, and the framework takes equal ids for one call. */
function callId(runId: string, id: string): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([runId, id]))
    .digest('hex');
  return `call_${digest.slice(0, 32)}`;
}

/** The name that endpoints have for a type of sound, such as `mp3` for `audio/mpeg`. */
function audioFormat(mimeType: string): string {
  const [, subtype = ''] = mimeType.split('/');
  return subtype === 'mpeg' ? 'mp3' : subtype.replace(/^(?:x-|vnd\.)/, '').replace(/^wave$/, 'wav');
}
