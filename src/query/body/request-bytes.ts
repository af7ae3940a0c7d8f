import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, type Zlib } from 'node:zlib';
import type { ErrorCode } from 'nest-agent-query-client';
import { QueryError } from '../contract/errors.js';
import { limitExceeded } from '../contract/refusals.js';
import type { BodyLimits } from '../options/table.js';

/** The sender left before its body was complete. There is no one to answer. */
export class BodyAborted extends Error {
  override readonly name = 'BodyAborted';

  constructor(options?: ErrorOptions) {
    super('The connection closed before the body was complete.', options);
  }
}

/** What is needed of a request to read its body. */
export type BodyRequest = Readable & Pick<IncomingMessage, 'headers'>;

/** Takes the next bytes of a body. Returns a promise if what follows must wait. Throws or rejects if the body is refused. */
export type Take = (bytes: Buffer) => Promise<void> | undefined;

/** Bytes of the longest way to write one character in a JSON string: an escape such as `\u0041`. */
const LONGEST_CHARACTER = 6;

const DECOMPRESSORS = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/**
 * Refuses a body because of its length alone, before a byte of it is read (and before `100 Continue` is sent).
 *
 * Only a length that cannot fit is refused. The longest body that fits has all files at their limit, with each character
 * of their base64 written as an escape, and the rest of the document at its limit. A compressed body is never refused here.
 *
 * @param headers the request's headers, names in lower case
 * @throws {QueryError} `limit_exceeded`
 */
export function refuseByLength(headers: IncomingHttpHeaders, limits: BodyLimits): void {
  if (encodingOf(headers)) return;
  const base64Characters = Math.ceil(limits.filesBytes / 3) * 4 + limits.parts * 4;
  const longest = base64Characters * LONGEST_CHARACTER + limits.documentBytes;
  if (Number(headers['content-length']) > longest) throw limitExceeded('filesBytes', limits.filesBytes);
}

/**
 * Receives the bytes of a body as they arrive, after its `Content-Encoding` is undone.
 *
 * After a rejection no timer or listener is left, and the request is paused where it was.
 *
 * @param idleMs how long the sender may send nothing
 * @param code of a body that does not have the encoding that its header states. Default `invalid_json`
 * @throws {QueryError} `code` · `unsupported_encoding` · `body_timeout`, and what `take` throws
 * @throws {BodyAborted} if the sender left
 * @throws {Error} if the body was read before
 */
export function receiveBytes(
  request: BodyRequest,
  idleMs: number,
  take: Take,
  code: ErrorCode = 'invalid_json',
): Promise<void> {
  return new Promise((resolve, reject) => {
    new BytesReceiver(request, idleMs, take, code, resolve, reject).start();
  });
}

/**
 * Reads a request to its end and ignores the bytes: a sender that is still sending reads the answer only afterwards.
 *
 * Resolves when the body has ended, the sender has left, `maxBytes` have come or `maxMs` milliseconds have passed. The
 * request is paused then; destroy its socket. Never rejects.
 */
export function drain(request: Readable, maxBytes: number, maxMs: number): Promise<void> {
  return new Promise((resolve) => {
    let remaining = maxBytes;
    const stop = () => {
      clearTimeout(timer);
      request.off('data', onData).off('end', stop).off('error', stop).off('close', stop).pause();
      resolve();
    };
    const onData = (chunk: Buffer) => {
      remaining -= chunk.length;
      if (remaining <= 0) stop();
    };
    const timer = setTimeout(stop, maxMs);
    if (request.readableEnded || request.destroyed) return stop();
    request.on('data', onData).on('end', stop).on('error', stop).on('close', stop).resume();
  });
}

/** Receives the bytes of one body. Their source is paused while `take` waits. */
class BytesReceiver {
  readonly #decompressor: (Duplex & Zlib) | undefined;
  /** The request, or the decompressor behind it. */
  readonly #source: Readable;
  #idleTimer: NodeJS.Timeout | undefined;
  #isWaiting = false;
  /** Bytes that came from the sender. */
  #received = 0;
  /** True once the body is complete or has failed: the request is no longer used. */
  #isDetached = false;

  constructor(
    private readonly request: BodyRequest,
    private readonly idleMs: number,
    private readonly take: Take,
    private readonly code: ErrorCode,
    private readonly resolve: () => void,
    private readonly reject: (error: unknown) => void,
  ) {
    this.#decompressor = decompressorOf(request);
    this.#source = this.#decompressor ?? request;
  }

  start(): void {
    const { request } = this;
    if (request.readableEnded) throw new Error('The body was read before.');
    if (request.destroyed) return this.#fail(new BodyAborted());
    this.#idleTimer = setTimeout(this.#onIdle, this.idleMs);
    request.on('close', this.#onClose).on('error', this.#onRequestError);
    this.#source.on('end', this.#onEnd).on('data', this.#onData);
    if (!this.#decompressor) return;
    this.#decompressor.on('error', this.#onDecompressionError);
    request.on('data', this.#onReceived).pipe(this.#decompressor);
  }

  readonly #onReceived = (chunk: Buffer): void => {
    // Compressed bytes are progress too, also those that decompress to nothing yet.
    this.#idleTimer?.refresh();
    this.#received += chunk.length;
  };

  readonly #onData = (chunk: Buffer): void => {
    this.#idleTimer?.refresh();
    try {
      const ready = this.take(chunk);
      if (ready) this.#waitFor(ready);
    } catch (error) {
      this.#fail(error);
    }
  };

  #waitFor(ready: Promise<void>): void {
    this.#isWaiting = true;
    this.#source.pause();
    ready.then(
      () => this.#continue(),
      (error: unknown) => this.#fail(error),
    );
  }

  #continue(): void {
    if (this.#isDetached) return;
    this.#isWaiting = false;
    this.#idleTimer?.refresh();
    if (this.#source.readableEnded) this.#onEnd();
    else this.#source.resume();
  }

  readonly #onEnd = (): void => {
    if (this.#isWaiting) return;
    // A decompressor ends with its data. No one would read what follows, so that the connection would hang.
    if (this.#decompressor && this.#decompressor.bytesWritten !== this.#received) {
      const encoding = this.request.headers['content-encoding'];
      const detail = `The body has bytes after the end of its content encoding "${encoding}".`;
      return this.#fail(new QueryError(this.code, detail));
    }
    this.#detach();
    this.resolve();
  };

  readonly #onIdle = (): void => {
    if (this.#isWaiting) this.#idleTimer?.refresh();
    else this.#fail(new QueryError('body_timeout', `Nothing of the body came for ${this.idleMs} ms.`));
  };

  readonly #onClose = (): void => {
    if (!this.request.readableEnded) this.#fail(new BodyAborted());
  };

  readonly #onRequestError = (cause: Error): void => this.#fail(new BodyAborted({ cause }));

  readonly #onDecompressionError = (): void => {
    const encoding = this.request.headers['content-encoding'];
    const detail = `The body is cut off, or it does not have the content encoding "${encoding}" that its header states.`;
    this.#fail(new QueryError(this.code, detail));
  };

  #fail(error: unknown): void {
    if (this.#isDetached) return;
    this.#detach();
    this.request.pause();
    this.reject(error);
  }

  #detach(): void {
    const { request } = this;
    this.#isDetached = true;
    clearTimeout(this.#idleTimer);
    request.off('close', this.#onClose).off('error', this.#onRequestError);
    this.#source.off('end', this.#onEnd).off('data', this.#onData);
    if (!this.#decompressor) return;
    request.off('data', this.#onReceived).unpipe(this.#decompressor);
    this.#decompressor.off('error', this.#onDecompressionError).destroy();
  }
}

/** What undoes the `Content-Encoding` of a request; undefined if it has none. */
function decompressorOf(request: BodyRequest): (Duplex & Zlib) | undefined {
  const encoding = encodingOf(request.headers);
  if (encoding === undefined) return undefined;
  const decompress = DECOMPRESSORS.get(encoding);
  if (decompress) return decompress({ chunkSize: 64 * 1024 });
  const detail = `The content encoding "${encoding}" is not read; send gzip, deflate, br or none.`;
  throw new QueryError('unsupported_encoding', detail);
}

/** The `Content-Encoding` of a request in lower case; undefined if its bytes are sent as they are. */
function encodingOf(headers: IncomingHttpHeaders): string | undefined {
  const encoding = headers['content-encoding']?.trim().toLowerCase();
  return encoding === '' || encoding === 'identity' ? undefined : encoding;
}
