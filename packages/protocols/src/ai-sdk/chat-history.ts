import { Buffer } from 'node:buffer';
import { setImmediate } from 'node:timers/promises';
import { type AgentService, type Envelope, QueryError, type RunView, type Turn } from 'nest-agent-query';
import { heldLength, holdAnswer, JsonPieces, piecesOf, type ReadLog } from 'nest-agent-query/protocol';
import type { ServerResponse } from 'node:http';
import { messageIdOf, userIdOf } from './message-id.js';
import { MessageReader, type UiPart } from './message-reader.js';
import type { VoidRange } from './message-form.js';

/** How many turns are read at once. */
const PAGE = 20;

/** How many unfinished runs of a chat are shown. */
const UNFINISHED = 500;

/** A message, as `useChat` keeps it. */
export interface UiMessage {
  id: string;
  role: 'user' | 'assistant';
  parts: UiPart[];
}

type Json = Record<string, unknown>;

/** The messages of a chat, read from its turns, from the logs of their runs, and from its runs that have not ended. */
export class ChatHistory {
  /** @param path that of the endpoint: the files of queries are under it */
  constructor(
    private readonly agent: AgentService,
    private readonly owner: string,
    private readonly chatId: string,
    private readonly path: string,
  ) {}

  /** @throws {QueryError} `not_found`: the owner has no such chat */
  async *messages(): AsyncGenerator<UiMessage> {
    // First: a run that ends meanwhile is among these, in the turns, or in both.
    const unfinished = await this.#unfinished();
    for (let after: number | null = 0; after !== null;) {
      const { turns, next }: { turns: Turn[]; next: number | null } = await this.agent.session(
        ...([this.owner, this.chatId, after, PAGE] as const),
      );
      for (const turn of turns) {
        unfinished.delete(turn.runId);
        yield* this.#turn(turn);
      }
      after = next;
    }
    const rest = [...unfinished.values()];
    for (const run of rest) yield* this.#unfinishedTurn(run, run === rest.at(-1));
  }

  async *#turn(turn: Turn): AsyncGenerator<UiMessage> {
    const { runId, end } = turn;
    yield* this.#query(runId, turn.parts);
    const parts = (await this.#partsOfLog(runId)) ?? (await this.#partsOfTurn(turn));
    // Of how a run has ended, a client is told by more than the message. It must have a part.
    const isTold = end.status === 'completed' && parts.length > 0;
    if (!isTold && parts.at(-1)?.type !== 'data-done')
      parts.push({ type: 'step-start' }, { type: 'data-done', data: end });
    yield { id: messageIdOf(runId), role: 'assistant', parts };
  }

  /** The stream of the chat has the newest run that has not ended. If that asks, the page needs its questions besides. */
  async *#unfinishedTurn({ id, status }: RunView, isNewest: boolean): AsyncGenerator<UiMessage> {
    yield* this.#query(id, (await this.agent.parts(this.owner, id)) ?? []);
    if (isNewest && status !== 'input_required') return;
    const parts = (await this.#partsOfLog(id)) ?? (await this.#partsOfQuestions(id));
    if (parts.length > 0) yield { id: messageIdOf(id), role: 'assistant', parts };
  }

  /** The message of the user, after those that were sent along with it. */
  async *#query(runId: string, all: Turn['parts']): AsyncGenerator<UiMessage> {
    const parts: UiPart[] = [];
    for (const [index, part] of all.entries()) {
      if (part.type === 'file') {
        const { mimeType: mediaType, name: filename, sha256 } = part;
        parts.push({ type: 'file', mediaType, filename, url: `${this.path}/${runId}/files/${sha256}` });
        continue;
      }
      const text = { type: 'text', text: part.truncated ? await this.#wholeText(runId, part) : part.text };
      if (part.earlier) yield { id: `earlier_${runId}_${index}`, role: part.earlier, parts: [text] };
      else parts.push(text);
    }
    if (parts.length > 0) yield { id: userIdOf(runId), role: 'user', parts };
  }

  /** Undefined if the log is no longer kept. */
  async #partsOfLog(runId: string): Promise<UiPart[] | undefined> {
    try {
      const { run, read } = await this.agent.follow(this.owner, runId).admitted;
      return await partsOf(runId, (reader) => readPresent(read, reader, run!.events));
    } catch (error) {
      if (error instanceof QueryError && (error.code === 'not_found' || error.code === 'cursor_expired'))
        return undefined;
      throw error;
    }
  }

  async #partsOfTurn(turn: Turn): Promise<UiPart[]> {
    const { runId, truncated, text, envelopes, end } = turn;
    const whole = truncated ? await this.#wholeText(runId, turn) : text;
    // A page cuts the contents of messages where it cuts the text.
    const cut = envelopes.findLast(
      ({ type, data }) => type === 'message' && (data as Json)['content'] !== '',
    );
    const all = envelopes.map((envelope): Envelope => {
      const { type, data } = envelope;
      return envelope === cut
        ? {
            type,
            data: {
              ...(data as Json),
              content: `${(data as Json)['content'] as string}${whole.slice(text.length)}`,
            },
          }
        : envelope;
    });
    return partsOfEnvelopes(runId, [...all, { type: 'done', data: end }]);
  }

  async #partsOfQuestions(runId: string): Promise<UiPart[]> {
    const { inputs } = await this.agent.inputs.of(this.owner, runId);
    const requests = inputs.filter(({ resolved }) => !resolved);
    return requests.length === 0
      ? []
      : partsOfEnvelopes(runId, [{ type: 'input_required', data: { requests } }]);
  }

  /** A text that a page of turns shows cut: what it shows, if the rest is no longer kept. */
  async #wholeText(runId: string, { text, sha256 }: { text: string; sha256?: string }): Promise<string> {
    try {
      const file = await this.agent.file(this.owner, runId, sha256!);
      const bytes: Uint8Array[] = [];
      for await (const piece of (await file.read()) ?? []) bytes.push(piece);
      return bytes.length === 0 ? text : Buffer.concat(bytes).toString();
    } catch (error) {
      if (error instanceof QueryError && error.code === 'not_found') return text;
      throw error;
    }
  }

  /** The runs that have not ended, in the order in which they execute. */
  async #unfinished(): Promise<Map<string, RunView>> {
    const found: RunView[] = [];
    for (const status of ['input_required', 'running', 'waiting'] as const) {
      const options = { session: this.chatId, status, limit: UNFINISHED };
      found.push(...(await this.agent.runs(this.owner, options)).runs.reverse());
    }
    return new Map(found.map((run) => [run.id, run]));
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

/** What a restart has made void comes before it in the log: the log is read again without that. */
async function partsOf(runId: string, read: (reader: MessageReader) => Promise<void>): Promise<UiPart[]> {
  for (const voids: VoidRange[] = []; ;) {
    const reader = new MessageReader(runId, voids);
    await read(reader);
    if (!reader.untold) return reader.parts;
    voids.push(reader.untold);
  }
}

function partsOfEnvelopes(runId: string, envelopes: Envelope[]): Promise<UiPart[]> {
  const lines = envelopes.map((envelope) => JSON.stringify(envelope)).join('\n');
  const slice = { lines, first: 1, count: envelopes.length, endOffset: lines.length, ended: true };
  return partsOf(runId, async (reader) => void reader.framesOf(slice));
}

/** Reads the log of a run up to an envelope. */
async function readPresent(read: ReadLog, reader: MessageReader, last: number): Promise<void> {
  for (let after = 0; after < last && !reader.isOver;) {
    const slice = await read(after);
    if (slice.count === 0) return;
    reader.framesOf(slice);
    after = slice.first + slice.count - 1;
    // A long log must not hold the event loop.
    await setImmediate();
  }
}
