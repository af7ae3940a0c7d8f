import { AgentQueryError } from './agent-query-error.js';
import { base64Of, type FileContent, type FileInput, type FileSource, sourceOf } from './file-source.js';

/** A part of a query: a text, a file that is encoded while it is sent, or a file that is in base64 already. */
export type InputPart =
  | { type: 'text'; text: string }
  | ({ type: 'file' } & FileInput)
  | { type: 'file'; name: string; mimeType: string; base64: string };

/** What a query sends besides its text or its parts. */
export interface QueryInput {
  files?: readonly (FileContent | FileInput)[] | undefined;
  kwargs?: Record<string, unknown> | undefined;
  sessionId?: string | undefined;
  metadata?: Record<string, string> | undefined;
}

/**
 * The body of a query: texts, and files that are read while they are sent.
 *
 * @example
 * const body = new QueryBody('What is this?', { files: ['a.pdf'] });
 * await fetch(url, { method: 'POST', body: await body.open(undefined, signal), duplex: 'half' });
 */
export class QueryBody {
  readonly #pieces: (string | FileSource)[];
  /** The bytes of the whole body, if known. */
  readonly size: number | undefined;
  readonly #isRepeatable: boolean;
  #wasRead = false;
  /** Whether the last byte was handed over for sending, in any try. */
  isSent: boolean;
  /** When the last byte of the newest try was handed over: never for a Blob, and absent for a text. */
  whenSent: Promise<void> | undefined;
  /** Why a file could not be read, if that is so. */
  failure: unknown;

  /** @throws {TypeError} a content is of no known kind · {AgentQueryError} `file_unreadable` */
  constructor(textOrParts: string | readonly InputPart[], input: QueryInput) {
    const { files = [], kwargs, sessionId, metadata } = input;
    const parts: readonly InputPart[] =
      typeof textOrParts === 'string' ? [{ type: 'text', text: textOrParts }] : textOrParts;
    this.#pieces = [
      '{"parts":[',
      ...[...parts, ...files.map(filePart)].flatMap((part, index) => piecesOf(part, index === 0 ? '' : ',')),
      `],"kwargs":${JSON.stringify({ ...kwargs, ...(sessionId !== undefined && { session_id: sessionId }) })}`,
      `${metadata ? `,"metadata":${JSON.stringify(metadata)}` : ''}}`,
    ];
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
    onSent: OnSent | undefined,
    signal: AbortSignal,
  ): Promise<string | Blob | ReadableStream<Uint8Array>> {
    if (this.#pieces.every((piece) => typeof piece === 'string')) return this.#pieces.join('');
    let sent!: () => void;
    this.whenSent = new Promise((resolve) => (sent = resolve));
    return isBrowser() ? this.#blob(signal) : this.#stream(onSent, signal, sent);
  }

  /** @throws {AgentQueryError} `body_not_repeatable`, because of `cause`: another try has no stream to read */
  assertRepeatable(cause: unknown): void {
    if (!this.#wasRead || this.#isRepeatable) return;
    throw new AgentQueryError(
      'body_not_repeatable',
      'The query was cut, and a stream in it can be read only once. Ask again.',
      { cause },
    );
  }

  async *#chunks(onSent: OnSent | undefined, signal: AbortSignal): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    const encoder = new TextEncoder();
    let sent = 0;
    this.#wasRead = true;
    try {
      for (const piece of this.#pieces)
        for await (const text of typeof piece === 'string' ? [piece] : base64Of(piece, signal)) {
          const bytes = encoder.encode(text);
          yield bytes;
          onSent?.((sent += bytes.length), this.size);
        }
    } catch (error) {
      // `fetch` would hide it behind an error of its own.
      this.failure = error;
      throw error;
    }
  }

  async #blob(signal: AbortSignal): Promise<Blob> {
    const slices: Blob[] = [];
    for await (const chunk of this.#chunks(undefined, signal)) slices.push(new Blob([chunk]));
    return new Blob(slices);
  }

  #stream(onSent: OnSent | undefined, signal: AbortSignal, end: () => void): ReadableStream<Uint8Array> {
    const chunks = this.#chunks(onSent, signal);
    let controller!: ReadableStreamDefaultController<Uint8Array>;
    const abort = () => {
      controller.error(signal.reason);
      leave();
    };
    // The signal may last longer than the body, and would keep it.
    const release = () => signal.removeEventListener('abort', abort);
    const leave = () => {
      release();
      void chunks.return(undefined).catch(() => undefined);
    };
    return new ReadableStream<Uint8Array>(
      {
        // `fetch` of Node reads on after it was aborted.
        start: (started) => {
          controller = started;
          signal.addEventListener('abort', abort);
        },
        pull: async () => {
          const next = await chunks.next().catch((error: unknown) => {
            release();
            throw error;
          });
          if (!next.done) return controller.enqueue(next.value);
          release();
          this.isSent = true;
          end();
          controller.close();
        },
        cancel: leave,
      },
      { highWaterMark: 0 },
    );
  }
}

type OnSent = (bytes: number, total: number | undefined) => void;

/** Windows and workers of browsers have a location; Node, Bun and workers of servers have none. */
function isBrowser(): boolean {
  return (globalThis as { location?: unknown }).location !== undefined;
}

function filePart(file: FileContent | FileInput): InputPart {
  const isInput = typeof file === 'object' && file !== null && 'content' in file;
  return { type: 'file', ...(isInput ? file : { content: file }) };
}

function piecesOf(part: InputPart, before: string): (string | FileSource)[] {
  if (part.type !== 'file' || !('content' in part)) return [before + JSON.stringify(part)];
  const source = sourceOf(part);
  const { name, mimeType } = source;
  const head = JSON.stringify({ type: 'file', name, mimeType }).slice(0, -1);
  return [`${before}${head},"base64":"`, source, '"}'];
}

/** @returns bytes; `undefined` if the size of a file is not known */
function sizeOf(pieces: (string | FileSource)[]): number | undefined {
  let size = 0;
  for (const piece of pieces)
    size += typeof piece === 'string' ? new Blob([piece]).size : 4 * Math.ceil((piece.size ?? NaN) / 3);
  return size || undefined;
}
