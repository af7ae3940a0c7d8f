import { AgentQueryError } from './agent-query-error.js';
import { base64Of, type FileContent, type FileInput, type FileSource, sourceOf } from './file-source.js';

/** A part of a query: a text, a file that is encoded while it is sent, or a file that is in base64 already. */
export type InputPart =
  | { type: 'text'; text: string }
  | ({ type: 'file' } & FileInput)
  | { type: 'file'; name: string; mimeType: string; base64: string };

/** What a query sends. */
export interface QueryInput {
  textOrParts: string | readonly InputPart[];
  files?: readonly (FileContent | FileInput)[] | undefined;
  kwargs?: Record<string, unknown> | undefined;
  sessionId?: string | undefined;
}

/** The body of a query: texts, and files that are read while they are sent. */
export class QueryBody {
  readonly #pieces: (string | FileSource)[];
  /** The bytes of the whole body, if known. */
  readonly size: number | undefined;
  readonly #isRepeatable: boolean;
  #wasRead = false;
  /** Whether the last byte was handed over for sending. */
  isSent: boolean;
  /** Why a file could not be read, if that is so. */
  failure: AgentQueryError | undefined;

  /** @throws {TypeError} a content is of no known kind · {AgentQueryError} `file_unreadable` */
  constructor({ textOrParts, files = [], kwargs = {}, sessionId }: QueryInput) {
    const parts: readonly InputPart[] =
      typeof textOrParts === 'string' ? [{ type: 'text', text: textOrParts }] : textOrParts;
    this.#pieces = joinedTexts([
      '{"parts":[',
      ...[...parts, ...files.map(filePart)].flatMap((part, index) => [
        index === 0 ? '' : ',',
        ...piecesOf(part),
      ]),
      `],"kwargs":${JSON.stringify({ ...kwargs, ...(sessionId !== undefined && { session_id: sessionId }) })}}`,
    ]);
    const sources = this.#pieces.filter((piece) => typeof piece !== 'string');
    this.#isRepeatable = sources.every(({ isRepeatable }) => isRepeatable);
    this.isSent = sources.length === 0;
    this.size = sizeOf(this.#pieces);
  }

  /**
   * The body for `fetch`: a text if it has no files. A browser cannot send a stream over HTTP/1.1: there it is a Blob, whose
   * parts the browser keeps outside of the memory of the page.
   */
  async open(
    onSent: ((bytes: number, total: number | undefined) => void) | undefined,
  ): Promise<string | Blob | ReadableStream<Uint8Array>> {
    if (this.#pieces.every((piece) => typeof piece === 'string')) return this.#pieces.join('');
    if (this.#wasRead && !this.#isRepeatable)
      throw new AgentQueryError(
        'body_not_repeatable',
        'The query was cut, and a stream in it can be read only once. Ask again.',
      );
    this.#wasRead = true;
    return isBrowser() ? this.#blob() : this.#stream(onSent);
  }

  async *#texts(): AsyncGenerator<string> {
    try {
      for (const piece of this.#pieces) {
        if (typeof piece === 'string') yield piece;
        else yield* base64Of(piece);
      }
    } catch (error) {
      // `fetch` would hide it behind an error of its own.
      this.failure = error as AgentQueryError;
      throw error;
    }
  }

  async #blob(): Promise<Blob> {
    const slices: Blob[] = [];
    for await (const text of this.#texts()) slices.push(new Blob([text]));
    return new Blob(slices);
  }

  #stream(
    onSent: ((bytes: number, total: number | undefined) => void) | undefined,
  ): ReadableStream<Uint8Array> {
    const encoder = new TextEncoder();
    const texts = this.#texts();
    let sent = 0;
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const next = await texts.next();
          if (next.done) {
            this.isSent = true;
            return controller.close();
          }
          const bytes = encoder.encode(next.value);
          controller.enqueue(bytes);
          onSent?.((sent += bytes.length), this.size);
        },
        cancel: async () => void (await texts.return(undefined)),
      },
      { highWaterMark: 0 },
    );
  }
}

/** Windows and workers of browsers have a location; Node, Bun and workers of servers have none. */
export function isBrowser(): boolean {
  return (globalThis as { location?: unknown }).location !== undefined;
}

function filePart(file: FileContent | FileInput): InputPart {
  const isInput = typeof file === 'object' && file !== null && 'content' in file;
  return { type: 'file', ...(isInput ? file : { content: file }) };
}

function piecesOf(part: InputPart): (string | FileSource)[] {
  if (part.type !== 'file' || !('content' in part)) return [JSON.stringify(part)];
  const source = sourceOf(part);
  const { name, mimeType } = source;
  const head = JSON.stringify({ type: 'file', name, mimeType }).slice(0, -1);
  return [`${head},"base64":"`, source, '"}'];
}

/** Joins neighbouring texts, so that a body is not sent in small chunks. */
function joinedTexts(pieces: (string | FileSource)[]): (string | FileSource)[] {
  const joined: (string | FileSource)[] = [];
  for (const piece of pieces) {
    const last = joined.at(-1);
    if (typeof piece === 'string' && typeof last === 'string') joined[joined.length - 1] = last + piece;
    else joined.push(piece);
  }
  return joined;
}

function sizeOf(pieces: (string | FileSource)[]): number | undefined {
  const encoder = new TextEncoder();
  let size = 0;
  for (const piece of pieces) {
    if (typeof piece === 'string') size += encoder.encode(piece).length;
    else if (piece.size === undefined) return undefined;
    else size += 4 * Math.ceil(piece.size / 3);
  }
  return size;
}
