import { invalidEnvelope } from '../contract/envelope-text.js';
import { QueryError } from '../contract/errors.js';
import { faultOfFileName, faultOfMediaType } from '../contract/media-types.js';
import { limitExceeded } from '../contract/refusals.js';
import type { EmittedContent, EmittedFileEnvelope } from 'nest-agent-query-client';
import type { BodyLimits } from '../options/table.js';
import type { BodyContent } from './content.js';
import { BodyContents, type ContentWriter } from './body-contents.js';
import type { Spool } from './spool.js';

/** A file that a handler has emitted, with its whole content. */
export interface ReceivedFile {
  name: string;
  mimeType: string;
  /** To be discarded by the receiver. */
  content: BodyContent;
}

/** Receives the files of one answer, one after another: in memory if they are small, in temporary files if they are large. */
export class AnswerFiles {
  #totalBytes = 0;
  #expectedBytes = 0;
  #isStopped = false;
  #stopReading: (() => void) | undefined;

  /** @param limits of one file and of all files of the answer, as those of a query */
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
      await contents.settled();
      return { name, mimeType, content: received };
    } catch (error) {
      await contents.discard();
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

  async #read(source: ByteSource, writer: ContentWriter, contents: BodyContents): Promise<void> {
    try {
      for (;;) {
        const { done, value } = await this.#next(source);
        if (done) return;
        writer.add(bytesOf(value));
        if (contents.isCongested) await contents.settled();
      }
    } catch (error) {
      (async () => source.stop())().catch(() => undefined);
      throw error;
    } finally {
      this.#stopReading = undefined;
    }
  }

  #next(source: ByteSource): ReturnType<ByteSource['next']> {
    return new Promise((resolve, reject) => {
      this.#stopReading = () => reject(new Error('The run has stopped.'));
      // It may have stopped while the disk wrote what was read before.
      if (this.#isStopped) this.#stopReading();
      else Promise.resolve(source.next()).then(resolve, reject);
    });
  }

  #count(bytes: number): undefined {
    const { filesBytes } = this.limits;
    this.#totalBytes += bytes;
    if (this.#totalBytes > filesBytes) throw limitExceeded('filesBytes', filesBytes);
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
  if (content instanceof Uint8Array || isBlob(content) || isStream(content)) return true;
  return Symbol.asyncIterator in content;
}

interface ByteSource {
  next(): Promise<{ done?: boolean | undefined; value?: unknown }>;
  /** No more bytes are wanted. */
  stop(): unknown;
}

function sourceOf(content: EmittedContent): ByteSource {
  // A copy: the handler may use its buffer again.
  if (content instanceof Uint8Array) return sourceOf(new Blob([new Uint8Array(content)]));
  if (isBlob(content)) return sourceOf(content.stream());
  if (isStream(content)) {
    const reader = content.getReader();
    return { next: () => reader.read(), stop: () => reader.cancel() };
  }
  const iterator = content[Symbol.asyncIterator]();
  return { next: () => iterator.next(), stop: () => iterator.return?.() };
}

/** @throws {QueryError} `invalid_envelope` */
function bytesOf(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  throw invalidEnvelope(
    `the content of a \`file\` must come as bytes, and a part of it is a ${typeof chunk}`,
  );
}

const isBlob = (content: object): content is Blob => hasMethod(content, 'stream');
const isStream = (content: object): content is ReadableStream<Uint8Array> => hasMethod(content, 'getReader');

function hasMethod(object: object, name: string): boolean {
  return typeof (object as Record<string, unknown>)[name] === 'function';
}

/** The file of an answer exceeds a limit: the sentence says that it is not one of the query. */
function ofAnswer(error: unknown): unknown {
  if (!(error instanceof QueryError) || error.code !== 'limit_exceeded') return error;
  return new QueryError('limit_exceeded', `The agent emitted too much. ${error.detail}`, error.extras);
}
