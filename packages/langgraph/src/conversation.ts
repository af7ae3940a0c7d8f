import { Buffer } from 'node:buffer';
import type { BaseMessage } from '@langchain/core/messages';
import type { FilePart, QueryContext, QueryPart, Turn } from 'nest-agent-query';
import {
  type AnswerFile,
  answerSteps,
  DEFAULT_INPUTS,
  FileContents,
  historyFile,
} from 'nest-agent-query/adapters';
import type { Block } from './content-pieces.js';
import type { LangGraphOptions } from './graph-options.js';
import { messageClasses } from './packages.js';
import { toolText } from './tool-content.js';

/** Makes messages of LangChain of a query and of the turns before it. */
export class Conversation {
  readonly #contents: FileContents;
  /** What the user says next. */
  #said: Block[] = [];

  constructor(
    private readonly context: QueryContext,
    { inputs = DEFAULT_INPUTS, textOfFile }: LangGraphOptions,
  ) {
    this.#contents = new FileContents(inputs, textOfFile && ((part) => textOfFile(part, context)));
  }

  /**
   * The message of the query, after the turns that the graph does not know.
   *
   * @throws {QueryError} `limit_exceeded`: a file is too large for a model
   */
  async messages(history: readonly Turn[], parts: readonly QueryPart[]): Promise<BaseMessage[]> {
    const { HumanMessage } = await messageClasses();
    const messages: BaseMessage[] = [];
    const say = (id: string) => {
      messages.push(new HumanMessage({ content: contentOf(this.#said), id }));
      this.#said = [];
    };
    for (const turn of history) {
      for (const part of turn.parts)
        this.#said.push(part.type === 'text' ? textBlock(part.text) : await this.#earlierFile(part));
      const answer = answerSteps(turn);
      // Some models refuse two questions without an answer between them: what has none is said with the next one.
      if (answer.length === 0) continue;
      say(idOf(turn.runId, 0));
      messages.push(...(await this.#answer(turn.runId, answer)));
    }
    for (const part of parts)
      this.#said.push(part.type === 'text' ? textBlock(part.text) : await this.#fileBlock(part));
    say(idOf(this.context.runId, 0));
    return messages;
  }

  async #answer(runId: string, steps: ReturnType<typeof answerSteps>): Promise<BaseMessage[]> {
    const { AIMessage, ToolMessage } = await messageClasses();
    const messages: BaseMessage[] = [];
    for (const { text, files, calls } of steps) {
      const tool_calls = calls.map(({ id, name, arguments: args }) => ({
        type: 'tool_call' as const,
        id,
        name,
        args: objectOf(args),
      }));
      messages.push(new AIMessage({ content: text, tool_calls, id: idOf(runId, messages.length + 1) }));
      for (const { id, name, result, isError } of calls) {
        const status = isError ? 'error' : 'success';
        const fields = { content: toolText(result), tool_call_id: id, name, status } as const;
        messages.push(new ToolMessage({ ...fields, id: idOf(runId, messages.length + 1) }));
      }
      // Most models take files from the user only.
      for (const file of files)
        this.#said.push(textBlock('A file of the answer before:'), await this.#earlierFile(file));
    }
    return messages;
  }

  async #earlierFile(file: AnswerFile & { size?: number }): Promise<Block> {
    const part = this.#contents.hasRoomFor(file.size ?? 0)
      ? await historyFile(this.context, file)
      : undefined;
    if (part && this.#contents.hasRoomFor(part.file.size)) return this.#fileBlock(part);
    return textBlock(`[The file ${JSON.stringify(file.name)} is not shown again.]`);
  }

  async #fileBlock(part: FilePart): Promise<Block> {
    const file = await this.#contents.of(part);
    if (file.type === 'text') return textBlock(file.text);
    const { name, mimeType, bytes } = file;
    const kind = /^(?:image|audio|video)(?=\/)/.exec(mimeType)?.[0] ?? 'file';
    return {
      type: kind,
      source_type: 'base64',
      mime_type: mimeType,
      data: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64'),
      // Each package of a provider looks for one of these.
      metadata: { filename: name, name, title: name },
    };
  }
}

/** The id of a message that the adapter makes: the run of its turn, and its place there. */
export function idOf(runId: string, index: number): string {
  return `${runId}:${index}`;
}

/** Whether the adapter has made a message, and not the graph. */
export function isGiven(id: string | undefined, { history, runId }: QueryContext): boolean {
  const end = id?.lastIndexOf(':') ?? -1;
  if (end === -1) return false;
  const run = id!.slice(0, end);
  return run === runId || history.some((turn) => turn.runId === run);
}

/** A list with one text is a text: every model takes that. */
function contentOf(blocks: Block[]): string {
  const [only, ...more] = blocks;
  const content = only?.['type'] === 'text' && more.length === 0 ? only['text'] : blocks;
  // The types of LangChain do not have all blocks that its packages take.
  return content as string;
}

function textBlock(text: string): Block {
  return { type: 'text', text };
}

/** The arguments of a call are an object for LangChain. */
function objectOf(args: unknown): Record<string, unknown> {
  return typeof args === 'object' && args !== null && !Array.isArray(args)
    ? (args as Record<string, unknown>)
    : {};
}
