import { createHash } from 'node:crypto';
import { type Envelope, file, message, reasoning, source, toolCall, toolResult } from 'nest-agent-query';
import { shownResult } from 'nest-agent-query-adapters';
import { type ContentMessage, type FilePiece, isPlain, type Piece, piecesOf } from './content-pieces.js';
import { type ChunkMetadata, type TaskEvent, taskName, tasksOf } from './graph-events.js';
import { type CallPiece, StreamedMessage } from './streamed-message.js';
import { toolContentOf } from './tool-content.js';
import type { MeteredMessage } from './usage-of.js';

/** What the adapter reads of a message of LangChain. */
export interface GraphMessage extends ContentMessage, MeteredMessage {
  id?: string | undefined;
  getType(): string;
  tool_calls?: { id?: string; name: string; args: unknown }[];
  tool_call_chunks?: CallPiece[];
  invalid_tool_calls?: { id?: string; name?: string; args?: string; error?: string }[];
  tool_call_id?: string;
  status?: string;
  name?: string | undefined;
}

/** What decides about the texts of an answer. */
export interface TextRules {
  /** The nodes whose texts are shown; undefined for all. */
  nodes: ReadonlySet<string> | undefined;
  /** Whether a tool is executed in a task: what a model says there is said to the tool. */
  isInTool(task: string): boolean;
  /** Says what callers read of a tool that has failed. */
  toolFailed(name: string, error: unknown): string;
}

/** Makes envelopes of the messages of a graph: of chunks as they come, and of what the nodes return at last. */
export class AnswerReader {
  #made: Envelope[] = [];
  readonly #streamed = new Map<ChunkMetadata, StreamedMessage>();
  /** The ids of the messages that are complete, and messages without an id. */
  readonly #known = new Set<string | GraphMessage>();
  /** The marks of messages that are complete and have no id that lasts. */
  readonly #marks: string[] = [];
  readonly #sources = new Set<string>();

  constructor(private readonly rules: TextRules) {}

  /** The envelopes that were made since the last call. */
  take(): Envelope[] {
    const made = this.#made;
    if (made.length > 0) this.#made = [];
    return made;
  }

  add(envelope: Envelope): void {
    this.#made.push(envelope);
  }

  /** A model has said something. */
  chunk(chunk: GraphMessage, metadata: ChunkMetadata): void {
    let streamed = this.#streamed.get(metadata);
    // Callbacks of LangChain are not awaited: a chunk may come after the end of its node.
    if (!streamed && chunk.id !== undefined && this.#known.has(chunk.id)) return;
    streamed ??= this.#begin(metadata);
    streamed.addId(chunk.id);
    if (isPlain(chunk)) this.#text(streamed, chunk.content as string);
    else for (const piece of piecesOf(chunk)) this.#piece(streamed, piece);
    for (const piece of chunk.tool_call_chunks ?? []) streamed.addCallPiece(piece);
  }

  /**
   * These messages are no news.
   *
   * @param marks of further messages
   */
  skip(messages: GraphMessage[], marks: string[] = []): void {
    for (const known of messages) this.#known.add(known.id ?? known);
    this.#marks.push(...marks);
  }

  /** A node has ended, and its calls of models are over. */
  ended(task: TaskEvent): void {
    const name = taskName(task);
    for (const message of messagesIn(task.result)) this.complete(message, task.name, name);
    for (const [metadata, streamed] of this.#streamed)
      if (streamed.task === name) this.#streamed.delete(metadata);
  }

  /**
   * Shows of a message that a node has returned what was not shown yet.
   *
   * @param node undefined if it is not known
   * @param task the name of the task; undefined if nothing of the message was streamed
   * @returns whether the message is new
   */
  complete(message: GraphMessage, node?: string, task?: string): boolean {
    const key = message.id ?? message;
    if (this.#known.has(key)) return false;
    this.#known.add(key);
    const at = this.#marks.length === 0 ? -1 : this.#marks.indexOf(markOf(message));
    if (at !== -1) {
      this.#marks.splice(at, 1);
      return false;
    }
    if (message.getType() === 'tool') this.#toolResult(message);
    if (message.getType() === 'ai') this.#answer(message, node, task);
    return true;
  }

  #begin(metadata: ChunkMetadata): StreamedMessage {
    const tasks = tasksOf(metadata);
    const isShown =
      this.#isTextNode(metadata.langgraph_node) && !tasks.some((task) => this.rules.isInTool(task));
    const streamed = new StreamedMessage(tasks.at(-1) ?? '', isShown);
    this.#streamed.set(metadata, streamed);
    return streamed;
  }

  #isTextNode(node: string | undefined): boolean {
    return this.rules.nodes === undefined || (node !== undefined && this.rules.nodes.has(node));
  }

  #text(streamed: StreamedMessage, text: string): void {
    if (text === '' || !streamed.isShown) return;
    this.#calls(streamed, streamed.takeCalls());
    streamed.text += text;
    this.#made.push(streamed.id === undefined ? message(text) : message(text, { id: streamed.id }));
  }

  #piece(streamed: StreamedMessage, piece: Piece): void {
    if (piece.type === 'text') return this.#text(streamed, piece.text);
    if (!streamed.isShown || piece.type === 'file') return;
    if (piece.type === 'source') return this.#source(piece.url, piece.title);
    if (piece.text === '') return;
    streamed.reasoning += piece.text;
    this.#made.push(reasoning(piece.text, { id: streamed.id }));
  }

  #source(url: string, title: string | undefined): void {
    if (this.#sources.has(url)) return;
    this.#sources.add(url);
    this.#made.push(source(url, { title }));
  }

  #file({ name, mimeType, bytes }: FilePiece): void {
    this.#made.push(file({ name, mimeType, content: bytes }));
  }

  #calls(streamed: StreamedMessage, calls: NonNullable<GraphMessage['tool_calls']>): void {
    for (const { id = '', name, args } of calls) {
      if (streamed.shownCalls.has(id)) continue;
      streamed.shownCalls.add(id);
      this.#made.push(toolCall(id, name, args));
    }
  }

  #answer(message: GraphMessage, node: string | undefined, task: string | undefined): void {
    const pieces = piecesOf(message);
    const text = textOf(pieces, 'text');
    const streamed =
      [...this.#streamed.values()].find(
        (one) => one.isShown && one.task === task && one.isPartOf(message.id, text),
      ) ?? new StreamedMessage(task ?? '', node === undefined || this.#isTextNode(node));
    streamed.addId(message.id);
    for (const type of ['reasoning', 'text'] as const) {
      const whole = textOf(pieces, type);
      // A node may have changed the text of a message after it was streamed.
      if (whole.startsWith(streamed[type]))
        this.#piece(streamed, { type, text: whole.slice(streamed[type].length) });
    }
    for (const piece of pieces) {
      if (piece.type === 'source') this.#piece(streamed, piece);
      if (piece.type === 'file' && streamed.isShown) this.#file(piece);
    }
    this.#calls(streamed, message.tool_calls ?? []);
    for (const call of message.invalid_tool_calls ?? []) this.#invalidCall(call);
  }

  /** The model has called a tool with arguments that are no JSON. No tool is executed. */
  #invalidCall({ id = '', name = '', args = '' }: { id?: string; name?: string; args?: string }): void {
    this.#made.push(
      toolCall(id, name, args),
      toolResult(id, 'The arguments of the call are not valid JSON.', { isError: true }),
    );
  }

  #toolResult({ tool_call_id: id = '', content, status, name = '' }: GraphMessage): void {
    const { content: result, files } = toolContentOf(content);
    if (status === 'error') {
      // Frameworks put the text of the exception there, which is not for callers.
      this.#made.push(toolResult(id, this.rules.toolFailed(name, result), { isError: true }));
      return;
    }
    this.#made.push(toolResult(id, shownResult(result)));
    for (const piece of files) this.#file(piece);
  }
}

/**
 * The messages in what a node gets or returns: a message, a list of them, or an object that has them.
 *
 * @param depth how many objects inside one another are looked at
 */
export function messagesIn(value: unknown, depth = 2): GraphMessage[] {
  if (typeof value !== 'object' || value === null) return [];
  if (isMessage(value)) return [value];
  if (Array.isArray(value)) return value.flatMap((item: unknown) => messagesIn(item, depth - 1));
  return depth > 0 ? Object.values(value).flatMap((member) => messagesIn(member, depth - 1)) : [];
}

/** By which a message is recognised without its id. Equal messages have equal marks. */
export function markOf(message: GraphMessage): string {
  const { content, tool_calls: calls, tool_call_id: call } = message;
  return createHash('sha256')
    .update(JSON.stringify([message.getType(), content, calls, call]))
    .digest('base64url');
}

/** Whether a message is a piece of one, as models stream them. */
export function isChunk(message: unknown): message is GraphMessage {
  return typeof message === 'object' && message !== null && 'tool_call_chunks' in message;
}

function isMessage(value: object): value is GraphMessage {
  return 'content' in value && 'getType' in value && typeof value.getType === 'function';
}

function textOf(pieces: Piece[], type: 'text' | 'reasoning'): string {
  return pieces.map((piece) => (piece.type === type ? piece.text : '')).join('');
}
