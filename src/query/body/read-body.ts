import type { IncomingMessage } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, type Zlib } from 'node:zlib';
import { QueryError } from '../contract/errors.js';
import type { FileContent } from '../files/content.js';
import { BodyContents } from '../files/body-contents.js';
import type { Spool } from '../files/spool.js';
import type { Upload } from '../files/uploads.js';
import type { BodyLimits } from '../options/table.js';
import { EventLoopShare } from '../platform/event-loop-share.js';
import { jsonPieces } from '../platform/write-json.js';
import { JsonScanner } from './json-scanner.js';

/** A body that was read. */
export interface ReadDocument {
  /**
   * What `JSON.parse` returns for the body, except the `base64` strings of file parts. In their places are a
   * `FileContent` each, or a `Base64Fault` if the string is not base64.
   */
  value: unknown;
  /** The contents in `value`. */
  contents: FileContent[];
  /** Frees all contents and removes their files. Can be called again; does not reject for a file that is gone. */
  discard(): Promise<void>;
}

/** The sender left before its body was complete. There is no one to answer. */
export class BodyAborted extends Error {
  override readonly name = 'BodyAborted';

  constructor(options?: ErrorOptions) {
    super('The connection closed before the body was complete.', options);
  }
}

/** What `readBody` needs of a request. */
export type BodyRequest = Readable & Pick<IncomingMessage, 'headers'>;

/** Bytes that are scanned at once, at most. Between two steps the reader can wait for a slow disk. */
const STEP_BYTES = 64 * 1024;

const DECOMPRESSORS = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/**
 * Reads a query's body as it arrives, undoes its `Content-Encoding` (gzip, deflate, br) and decodes its files.
 *
 * After a rejection no content, file, timer or listener is left, and the request is paused where it was: answer it, then
 * `drain` or destroy it.
 *
 * @param upload counts the bytes of the files. Default: they are not counted
 * @throws {QueryError} `invalid_json` · `limit_exceeded` · `unsupported_encoding` · `body_timeout` · `storage_full` ·
 * `rate_limited`
 * @throws {BodyAborted} if the sender left
 * @throws {Error} if the body was read before
 */
export function readBody(
  request: BodyRequest,
  limits: BodyLimits,
  spool: Spool,
  upload?: Upload,
): Promise<ReadDocument> {
  return new Promise((resolve, reject) => {
    new BodyReader(request, limits, new BodyContents(limits, spool, upload), resolve, reject).start();
  });
}

/**
 * Reads a body that the host has already parsed, as the JSON text that it has: with the same outcome and the same limits as
 * `readBody`.
 *
 * @param value what the host's parser returned; it is not changed. A string or bytes are read as JSON text
 * @param upload counts the bytes of the files. Default: they are not counted
 * @throws {QueryError} `invalid_json` (text only) · `limit_exceeded` · `storage_full` · `rate_limited`
 */
export async function readParsed(
  value: unknown,
  limits: BodyLimits,
  spool: Spool,
  upload?: Upload,
): Promise<ReadDocument> {
  const contents = new BodyContents(limits, spool, upload);
  try {
    if (typeof value === 'string') return await scanAll(stepsOf(Buffer.from(value)), contents);
    if (value instanceof Uint8Array)
      return await scanAll(stepsOf(Buffer.from(value.buffer, value.byteOffset, value.byteLength)), contents);
    return await scanAll(bytesOf(jsonPieces(value)), contents);
  } catch (error) {
    await contents.writes.discard();
    throw error;
  }
}

function* stepsOf(bytes: Buffer): Generator<Buffer> {
  for (let offset = 0; offset < bytes.length; offset += STEP_BYTES)
    yield bytes.subarray(offset, offset + STEP_BYTES);
}

function* bytesOf(pieces: Iterable<string>): Generator<Buffer> {
  for (const piece of pieces) yield Buffer.from(piece);
}

async function scanAll(steps: Iterable<Buffer>, contents: BodyContents): Promise<ReadDocument> {
  const scanner = new JsonScanner(contents);
  const share = new EventLoopShare();
  for (const bytes of steps) {
    scanner.scan(bytes);
    if (contents.writes.congested) await contents.writes.settled();
    if (share.isUsedUp) await share.next();
  }
  return documentOf(scanner.end(), contents);
}

async function documentOf(
  read: { value: unknown; contents: FileContent[] },
  contents: BodyContents,
): Promise<ReadDocument> {
  const { writes } = contents;
  await writes.settled();
  for (const content of read.contents) contents.receive(content);
  return {
    ...read,
    async discard() {
      for (const content of read.contents) await content.discard();
      await writes.discard();
    },
  };
}

/** Reads one body. Its source is paused while the disk is too slow, and to let other requests have their turn. */
class BodyReader {
  private readonly scanner: JsonScanner;
  private readonly decompressor: (Duplex & Zlib) | undefined;
  /** The request, or the decompressor behind it. */
  private readonly source: Readable;
  private idleTimer: NodeJS.Timeout | undefined;
  private readonly share = new EventLoopShare();
  private isWaiting = false;
  /** Bytes that came from the sender. */
  private received = 0;
  private sourceEnded = false;
  /** True once the body is complete or has failed: the request is no longer used. */
  private detached = false;

  constructor(
    private readonly request: BodyRequest,
    private readonly limits: BodyLimits,
    private readonly contents: BodyContents,
    private readonly resolve: (document: ReadDocument) => void,
    private readonly reject: (error: unknown) => void,
  ) {
    this.scanner = new JsonScanner(this.contents);
    this.decompressor = decompressorOf(request);
    this.source = this.decompressor ?? request;
  }

  start(): void {
    const { request, source, decompressor } = this;
    if (request.readableEnded) throw new Error('The body was read before.');
    if (request.destroyed) return this.fail(new BodyAborted());
    this.idleTimer = setTimeout(this.onIdle, this.limits.idleMs);
    request.on('close', this.onClose).on('error', this.onRequestError);
    source.on('end', this.onEnd).on('data', this.onData);
    if (!decompressor) return;
    decompressor.on('error', this.onDecompressionError);
    request.on('data', this.onReceived).pipe(decompressor);
  }

  private readonly onReceived = (chunk: Buffer): void => {
    // Compressed bytes are progress too, also those that decompress to nothing yet.
    this.idleTimer?.refresh();
    this.received += chunk.length;
  };

  private readonly onData = (chunk: Buffer): void => {
    this.idleTimer?.refresh();
    this.scan(chunk);
  };

  private scan(chunk: Buffer): void {
    const { share } = this;
    const { writes } = this.contents;
    share.begin();
    try {
      for (let index = 0; index < chunk.length; index += STEP_BYTES) {
        this.scanner.scan(chunk.length <= STEP_BYTES ? chunk : chunk.subarray(index, index + STEP_BYTES));
        if (writes.congested) return this.waitFor(writes.settled(), chunk.subarray(index + STEP_BYTES));
        if (share.isUsedUp) return this.waitFor(share.next(), chunk.subarray(index + STEP_BYTES));
      }
    } catch (error) {
      this.fail(error);
    }
  }

  private waitFor(ready: Promise<void>, rest: Buffer): void {
    this.isWaiting = true;
    this.source.pause();
    ready.then(
      () => this.continueWith(rest),
      (error: unknown) => this.fail(error),
    );
  }

  private continueWith(rest: Buffer): void {
    if (this.detached) return;
    this.isWaiting = false;
    this.idleTimer?.refresh();
    this.scan(rest);
    if (this.isWaiting || this.detached) return;
    if (this.sourceEnded) this.complete();
    else this.source.resume();
  }

  private readonly onEnd = (): void => {
    this.sourceEnded = true;
    if (!this.isWaiting) this.complete();
  };

  private complete(): void {
    try {
      this.refuseRest();
      const read = this.scanner.end();
      this.detach();
      documentOf(read, this.contents).then(this.resolve, (error: unknown) => this.discardAndReject(error));
    } catch (error) {
      this.fail(error);
    }
  }

  /** A decompressor ends with its data. No one would read what follows, so that the connection would hang. */
  private refuseRest(): void {
    if (!this.decompressor || this.decompressor.bytesWritten === this.received) return;
    const encoding = this.request.headers['content-encoding'];
    throw new QueryError(
      'invalid_json',
      `The body has bytes after the end of its content encoding "${encoding}".`,
    );
  }

  private readonly onIdle = (): void => {
    if (this.isWaiting) {
      this.idleTimer?.refresh();
      return;
    }
    const { idleMs } = this.limits;
    this.fail(new QueryError('body_timeout', `Nothing of the body came for ${idleMs} ms.`));
  };

  private readonly onClose = (): void => {
    if (!this.request.readableEnded) this.fail(new BodyAborted());
  };

  private readonly onRequestError = (cause: Error): void => this.fail(new BodyAborted({ cause }));

  private readonly onDecompressionError = (): void => {
    const encoding = this.request.headers['content-encoding'];
    const detail = `The body is cut off, or it does not have the content encoding "${encoding}" that its header states.`;
    this.fail(new QueryError('invalid_json', detail));
  };

  private fail(error: unknown): void {
    if (this.detached) return;
    this.detach();
    this.request.pause();
    this.discardAndReject(error);
  }

  private discardAndReject(error: unknown): void {
    const reject = () => this.reject(error);
    this.contents.writes.discard().then(reject, reject);
  }

  /** Removes the listeners and the timer, and destroys the decompressor. */
  private detach(): void {
    const { request, source, decompressor } = this;
    this.detached = true;
    clearTimeout(this.idleTimer);
    request.off('close', this.onClose).off('error', this.onRequestError);
    source.off('end', this.onEnd).off('data', this.onData);
    if (!decompressor) return;
    request.off('data', this.onReceived).unpipe(decompressor);
    decompressor.off('error', this.onDecompressionError).destroy();
  }
}

/** What undoes the `Content-Encoding` of a request; undefined if it has none. */
function decompressorOf(request: BodyRequest): (Duplex & Zlib) | undefined {
  const encoding = request.headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return undefined;
  const decompress = DECOMPRESSORS.get(encoding);
  if (decompress === undefined) {
    const detail = `The content encoding "${encoding}" is not read; send gzip, deflate, br or none.`;
    throw new QueryError('unsupported_encoding', detail);
  }
  return decompress({ chunkSize: STEP_BYTES });
}
