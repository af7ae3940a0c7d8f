import type { ServerResponse } from 'node:http';
import { heldLength, holdAnswer, JsonPieces, piecesOf } from 'nest-agent-query/protocol';
import { filePath } from '../view/known-file.js';
import type { PastTurn, PastTurns } from '../view/past-turns.js';
import type { VoidRange } from './message-form.js';
import { earlierIdOf, messageIdOf, userIdOf } from './message-id.js';
import { MessageReader, type UiPart } from './message-reader.js';

/** A message, as `useChat` keeps it. */
export interface UiMessage {
  id: string;
  role: 'user' | 'assistant';
  parts: UiPart[];
}

/**
 * The messages of a chat. Of a run that is the last one, and neither ends nor asks, there is the question only: the stream of the chat has
 * its answer.
 *
 * @param path that of the endpoint: the files of queries are under it
 */
export async function* messagesOf(turns: PastTurns, path: string): AsyncGenerator<UiMessage> {
  for await (const turn of turns.all()) {
    yield* questionsOf(turn, path);
    if (!turn.goesOn || turn.isAsking) yield* answerTo(turn);
  }
}

/** The message of the user, after those that were sent along with it. */
function* questionsOf({ runId, parts: all }: PastTurn, path: string): Generator<UiMessage> {
  const parts: UiPart[] = [];
  for (const [index, part] of all.entries()) {
    if (part.type === 'file') {
      const { mimeType: mediaType, name: filename, sha256 } = part;
      parts.push({ type: 'file', mediaType, filename, url: filePath(path, runId, sha256) });
      continue;
    }
    const text = { type: 'text', text: part.text };
    if (part.earlier) yield { id: earlierIdOf(runId, index), role: part.earlier, parts: [text] };
    else parts.push(text);
  }
  if (parts.length > 0) yield { id: userIdOf(runId), role: 'user', parts };
}

async function* answerTo(turn: PastTurn): AsyncGenerator<UiMessage> {
  const { runId, end } = turn;
  const parts = await partsOf(turn);
  // Of how a run has ended, a client is told by more than the message. It must have a part.
  const isTold = !end || (end.status === 'completed' && parts.length > 0);
  if (!isTold && parts.at(-1)?.type !== 'data-done')
    parts.push({ type: 'step-start' }, { type: 'data-done', data: end });
  if (parts.length > 0) yield { id: messageIdOf(runId), role: 'assistant', parts };
}

/** What a restart has made void comes before it in the log: the log is read again without that. */
async function partsOf({ runId, read }: PastTurn): Promise<UiPart[]> {
  for (const voids: VoidRange[] = []; ;) {
    const { parts, untold } = await read(() => new MessageReader(runId, voids));
    if (!untold) return parts;
    voids.push(untold);
  }
}

/** Messages as JSON, which are read while they are written. */
class WrittenMessages implements AsyncIterable<string> {
  readonly length = Infinity;

  constructor(
    private readonly first: IteratorResult<UiMessage>,
    private readonly others: AsyncGenerator<UiMessage>,
    private readonly response: ServerResponse,
  ) {}

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    for (let next = this.first; !next.done; next = await this.others.next()) {
      holdAnswer(this.response, heldLength(next.value));
      if (next !== this.first) yield ',';
      yield* piecesOf(next.value) as Iterable<string>;
    }
  }
}

/** @throws {QueryError} the messages cannot be read */
export async function piecesOfMessages(
  messages: AsyncGenerator<UiMessage>,
  response: ServerResponse,
): Promise<JsonPieces> {
  const first = await messages.next();
  return new JsonPieces(['[', new WrittenMessages(first, messages, response), ']']);
}
