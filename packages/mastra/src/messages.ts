import { createHash } from 'node:crypto';
import type { Envelope, FilePart, Query, QueryContext, QueryPart, Turn, TurnFile } from 'nest-agent-query';
import { type AnswerStep, answerSteps, FileContents, historyFile } from 'nest-agent-query/adapters';
import type { MastraSettings } from './mastra-options.js';

/** A message in the form of the AI SDK, which all versions of Mastra take. */
export interface Message {
  role: 'user' | 'assistant' | 'tool';
  content: MessagePart[];
}

type MessagePart =
  | { type: 'text'; text: string }
  | { type: 'file'; data: Uint8Array; mediaType: string; filename: string }
  | { type: 'tool-call'; toolCallId: string; toolName: string; input: unknown }
  | { type: 'tool-result'; toolCallId: string; toolName: string; output: { type: string; value: unknown } };

/** Makes messages of a query and of the turns before it. */
export class MessageReader {
  readonly #contents: FileContents;

  constructor(
    private readonly context: QueryContext,
    { inputs, textOfFile }: Pick<MastraSettings, 'inputs' | 'textOfFile'>,
  ) {
    this.#contents = new FileContents(inputs, textOfFile && ((part) => textOfFile(part, context)));
  }

  /**
   * @param hasHistory whether the earlier turns come first
   * @throws {QueryError} `limit_exceeded`: a file is too large for a model
   */
  async read({ parts }: Query, hasHistory: boolean): Promise<Message[]> {
    const question = await this.#user(parts);
    const messages: Message[] = [];
    for (const turn of hasHistory ? this.context.history : [])
      messages.push(await this.#user(turn.parts), ...answerMessages(turn.runId, turn.envelopes));
    return [...messages, question];
  }

  async #user(parts: (QueryPart | Turn['parts'][number])[]): Promise<Message> {
    const content: MessagePart[] = [];
    for (const part of parts) {
      if (part.type === 'text') content.push({ type: 'text', text: part.text });
      else content.push('file' in part ? await this.#file(part) : await this.#earlierFile(part));
    }
    return { role: 'user', content };
  }

  async #file(part: FilePart): Promise<MessagePart> {
    const file = await this.#contents.of(part);
    if (file.type === 'text') return file;
    return { type: 'file', data: file.bytes, mediaType: file.mimeType, filename: file.name };
  }

  async #earlierFile(file: TurnFile): Promise<MessagePart> {
    const part = this.#contents.hasRoomFor(file.size) ? await historyFile(this.context, file) : undefined;
    if (part) return this.#file(part);
    return { type: 'text', text: `[The file ${JSON.stringify(file.name)} is not shown again.]` };
  }
}

/** What an agent has said and done in a run, as messages. */
export function answerMessages(runId: string, envelopes: Envelope[]): Message[] {
  return answerSteps({ envelopes }).flatMap((step) => stepMessages(runId, step));
}

function stepMessages(runId: string, { text, files, calls }: AnswerStep): Message[] {
  const texts = [text, ...files.map(({ name }) => `[You have made the file ${JSON.stringify(name)}.]`)];
  const content: MessagePart[] = texts
    .filter((each) => each !== '')
    .map((each) => ({ type: 'text', text: each }));
  const results: MessagePart[] = [];
  for (const { id, name: toolName, arguments: args, result, isError } of calls) {
    const toolCallId = callId(runId, id);
    content.push({ type: 'tool-call', toolCallId, toolName, input: objectOf(args) });
    const isText = typeof result === 'string';
    const type = isError ? (isText ? 'error-text' : 'error-json') : isText ? 'text' : 'json';
    results.push({ type: 'tool-result', toolCallId, toolName, output: { type, value: result } });
  }
  return [
    { role: 'assistant', content },
    ...(results.length > 0 ? [{ role: 'tool' as const, content: results }] : []),
  ];
}

/** Some models number their calls from the beginning in each answer, and the framework takes equal ids for one call. */
function callId(runId: string, id: string): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([runId, id]))
    .digest('hex');
  return `call_${digest.slice(0, 32)}`;
}

/** What a model has given as arguments may not be an object, and interfaces of models refuse that. */
function objectOf(input: unknown): object {
  return typeof input === 'object' && input !== null ? input : {};
}
