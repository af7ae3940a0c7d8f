import { invalidEnvelope } from '../contract/envelope-text.js';
import { QueryError } from '../contract/errors.js';
import { faultOfFileName, faultOfMediaType } from '../contract/media-types.js';
import { limitExceeded } from '../contract/refusals.js';
import type { EmittedContent, EmittedFileEnvelope } from 'nest-agent-query-client';
import type { BodyLimits } from '../options/table.js';
import type { FileContent } from './content.js';
import type { ContentWriter } from './content-writer.js';
import { BodyContents } from './body-contents.js';
import type { Spool } from './spool.js';

/** The most bytes that a writer takes at once. */
const PIECE_BYTES = 64 * 1024;

/** A file that a handler has emitted, with its whole content. */
export interface ReceivedFile {
  name: string;
  mimeType: string;
  /** To be discarded by the receiver. */
  content: FileContent;
}

/** Receives the files of one answer, one after another: in memory if they are small, in temporary files if they are large. */
export class AnswerFiles {
  #totalBytes = 0;
  #expectedBytes = 0;
  #isStopped = false;
  #stopReading: (() => void) | undefined;

  /**
   * @param limits of one file and of all files of the answer, as those of a query
   * @param spool has the temporary files
   */
  constructor(
    private readonly limits: BodyLimits,
    private readonly spool: Spool,
  ) {}

  /**
   * Reads a file to its end.
   *
   * @param data the data of the envelope, of any type
   * @throws {QueryError} `invalid_envelope` · `limit_exceeded` · `storage_full` · `unavailable`
   * @throws what reading the content throws
   */
  async receive(data: unknown): Promise<ReceivedFile> {
    const { name, mimeType, content } = emittedFile(data);
    const contents = new BodyContents(this.limits, this.spool, {
      count: (bytes) => this.#count(bytes),
      end: () => undefined,
    });
    try {
      const writer = contents.begin();
      await this.#read(sourceOf(content), writer, contents);
      const received = writer.finish();
      await contents.writes.settled();
      return { name, mimeType, content: received };
    } catch (error) {
      await contents.writes.discard();
      throw ofAnswer(error);
    }
  }

  /** No file is wanted any more: the content that is being read is told so, and `receive` rejects. */
  stop(): void {
    this.#isStopped = true;
    this.#stopReading?.();
  }

  /** Counts a file that is to be received later, if its size is known. @throws {QueryError} `limit_exceeded` */
  expect({ data }: { data?: { content?: Partial<Blob & Uint8Array> } }): void {
    const { filesBytes } = this.limits;
    this.#expectedBytes += data?.content?.byteLength ?? data?.content?.size ?? 0;
    if (this.#expectedBytes > filesBytes) throw ofAnswer(limitExceeded('filesBytes', filesBytes));
  }

  async #read(source: ByteSource, writer: ContentWriter, { writes }: BodyContents): Promise<void> {
    try {
      for (;;) {
        const step = await new Promise<IteratorResult<unknown>>((resolve, reject) => {
          this.#stopReading = () => reject(new Error('The run has stopped.'));
          // It may have stopped while the disk wrote what was read before.
          if (this.#isStopped) this.#stopReading();
          else source.next().then(resolve, reject);
        });
        if (step.done) return;
        write(writer, bytesOf(step.value));
        if (writes.congested) await writes.settled();
      }
    } catch (error) {
      source.stop();
      throw error;
    } finally {
      this.#stopReading = undefined;
    }
  }

  #count(bytes: number): undefined {
    const { filesBytes } = this.limits;
    this.#totalBytes += bytes;
    if (this.#totalBytes > filesBytes) throw limitExceeded('filesBytes', filesBytes);
  }
}

function write(writer: ContentWriter, bytes: Uint8Array): void {
  for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
    const piece = bytes.subarray(start, start + PIECE_BYTES);
    writer.reserve(piece.length).set(piece, writer.offset);
    writer.commit(piece.length);
  }
}

/**
 * Checks the data of a file that a handler has emitted. Its content is not read.
 *
 * @throws {QueryError} `invalid_envelope`
 */
export function emittedFile(data: unknown): EmittedFileEnvelope['data'] {
  const { name, mimeType, content } = (data ?? {}) as Record<string, unknown>;
  const nameFault = faultOfFileName(name);
  if (nameFault !== undefined) throw invalidEnvelope(`\`data.name\` of a \`file\` ${nameFault}`);
  const typeFault = faultOfMediaType(mimeType);
  if (typeFault !== undefined) throw invalidEnvelope(`\`data.mimeType\` of a \`file\` ${typeFault}`);
  if (!isContent(content)) {
    throw invalidEnvelope('a `file` needs `data.content`, a Blob, bytes, or a stream of bytes');
  }
  return { name: name as string, mimeType: mimeType as string, content };
}

function isContent(content: unknown): content is EmittedContent {
  if (typeof content !== 'object' || content === null) return false;
  return content instanceof Uint8Array || isBlob(content) || isStream(content) || isAsyncIterable(content);
}

/** Where the bytes of a content come from. */
interface ByteSource {
  next(): Promise<IteratorResult<unknown>>;
  /** No more bytes are wanted. */
  stop(): void;
}

function sourceOf(content: EmittedContent): ByteSource {
  // A copy: the handler may use its buffer again.
  if (content instanceof Uint8Array) return sourceOf(new Blob([new Uint8Array(content)]));
  if (isBlob(content)) return sourceOf(content.stream());
  if (isStream(content)) {
    const reader = content.getReader();
    return {
      next: async () => (await reader.read()) as IteratorResult<unknown>,
      stop: () => void reader.cancel().catch(() => undefined),
    };
  }
  const iterator = content[Symbol.asyncIterator]();
  return {
    next: async () => iterator.next(),
    stop: () => void (async () => iterator.return?.())().catch(() => undefined),
  };
}

/** @throws {QueryError} `invalid_envelope` */
function bytesOf(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  throw invalidEnvelope(
    `the content of a \`file\` must come as bytes, and a part of it is a ${typeof chunk}`,
  );
}

function isBlob(content: object): content is Blob {
  return typeof (content as Partial<Blob>).stream === 'function';
}

function isStream(content: object): content is ReadableStream<Uint8Array> {
  return typeof (content as Partial<ReadableStream>).getReader === 'function';
}

function isAsyncIterable(content: object): content is AsyncIterable<Uint8Array> {
  return Symbol.asyncIterator in content;
}

/** The file of an answer exceeds a limit: the sentence says that it is not one of the query. */
function ofAnswer(error: unknown): unknown {
  if (!(error instanceof QueryError) || error.code !== 'limit_exceeded') return error;
  return new QueryError('limit_exceeded', `The agent emitted too much. ${error.detail}`, error.extras);
}
