import { AgentQueryError } from './agent-query-error.js';
import { refusals } from './beginning-of.js';
import { BodyStream, isBrowser, type OnSent } from './body-stream.js';
import { type Connection, jsonOf } from './connection.js';
import {
  base64Of,
  bytesOf,
  type FileContent,
  type FileInput,
  type FileSource,
  sourceOf,
} from './file-source.js';

/** A file from so many bytes on is sent before its query, so that base64 costs nothing. */
const LARGE = 8 * 1024 * 1024;

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
  readonly #sources: FileSource[];
  #wasRead = false;
  /** What the newest try reads, if it is a stream. */
  stream: BodyStream | undefined;
  /** Whether the last byte was handed over for sending, in any try. */
  isSent = false;
  /** When the last byte of the newest try was handed over: never for a Blob, and absent for a text. */
  whenSent: Promise<void> | undefined;

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
    this.#sources = this.#pieces.filter((piece) => typeof piece !== 'string');
  }

  /** The bytes of the whole body, if known. */
  get size(): number | undefined {
    return sizeOf(this.#written());
  }

  /**
   * The body for `fetch`: a text if it has no files. A browser cannot send a stream over HTTP/1.1: there it is a Blob, whose
   * parts the browser keeps outside of the memory of the page.
   */
  async open(
    onSent: OnSent | undefined,
    signal: AbortSignal,
  ): Promise<string | Blob | ReadableStream<Uint8Array>> {
    const written = this.#written();
    const texts = written.filter((piece) => typeof piece === 'string');
    const hasFiles = texts.length < written.length;
    this.isSent ||= !hasFiles;
    this.whenSent = hasFiles ? new Promise(() => undefined) : undefined;
    this.stream = undefined;
    if (!hasFiles) return texts.join('');
    if (isBrowser()) return blobOf(this.#chunks(signal));
    this.stream = new BodyStream((left) => this.#chunks(left), this.size, onSent, signal);
    this.whenSent = this.stream.whenSent.then(() => void (this.isSent = true));
    return this.stream.stream;
  }

  /** @throws {AgentQueryError} `body_not_repeatable`, because of `cause`: another try has no stream to read */
  assertRepeatable(cause: unknown): void {
    if (!this.#wasRead || this.#sources.every(({ isRepeatable }) => isRepeatable)) return;
    throw new AgentQueryError(
      'body_not_repeatable',
      'The query was cut, and a stream in it can be read only once. Ask again.',
      { cause },
    );
  }

  /**
   * Sends the large files before the query, unless that was done, or the service takes files with their query only.
   *
   * @throws {AgentQueryError} a file is refused, or cannot be read · the reason of `signal`
   */
  async sendFiles(connection: Connection, signal: AbortSignal, onSent: OnSent | undefined): Promise<void> {
    const large = this.#sources.filter(isLarge);
    if (large.length === 0) return;
    const { sendFiles } = await import('./send-file.js');
    await sendFiles(large, { connection, signal, onSent, bytesOf, BodyStream, isBrowser, jsonOf, refusals });
  }

  /** From now on, all files are sent with the query. */
  forgetSent(): void {
    for (const source of this.#sources) source.sha256 = undefined;
  }

  /** The pieces, with each file that the service has by its name only. */
  #written(): (string | FileSource)[] {
    return this.#pieces.flatMap((piece) => {
      if (typeof piece === 'string') return piece;
      return piece.sha256 ? `sha256":"${piece.sha256}` : ['base64":"', piece];
    });
  }

  async *#chunks(signal: AbortSignal): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    const encoder = new TextEncoder();
    this.#wasRead = true;
    for (const piece of this.#written())
      for await (const text of typeof piece === 'string' ? [piece] : base64Of(piece, signal))
        yield encoder.encode(text);
  }
}

async function blobOf(chunks: AsyncIterable<Uint8Array<ArrayBuffer>>): Promise<Blob> {
  const slices: Blob[] = [];
  for await (const chunk of chunks) slices.push(new Blob([chunk]));
  return new Blob(slices);
}

/** Whether a file is sent before its query, if the service takes it. */
function isLarge({ size = 0, blob, isRepeatable }: FileSource): boolean {
  return size >= LARGE && isRepeatable && (!isBrowser() || blob !== undefined);
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
  return [`${before}${head},"`, source, '"}'];
}

/** @returns bytes; `undefined` if the size of a file is not known */
function sizeOf(pieces: (string | FileSource)[]): number | undefined {
  let size = 0;
  for (const piece of pieces)
    size += typeof piece === 'string' ? new Blob([piece]).size : 4 * Math.ceil((piece.size ?? NaN) / 3);
  return size || undefined;
}
