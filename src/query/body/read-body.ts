import type { IncomingMessage } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { QueryError } from '../contract/errors.js';
import { Contents, type FileContent } from '../files/contents.js';
import { JsonScanner } from './json-scanner.js';
import { takeParsed } from './parsed-body.js';
import type { BodyLimits } from './limits.js';
import type { Spool } from '../files/spool.js';

/** A body that was read. */
export interface ReadDocument {
  /**
   * What `JSON.parse` gives for the body, but for the `base64` strings of file parts: in their place stands a
   * `FileContent`, or a `Base64Fault` where the string is no base64.
   */
  value: unknown;
  /** The contents in `value`. */
  contents: FileContent[];
  /** Gives up all contents and removes their files. Can be called again; never rejects for a file that is gone. */
  discard(): Promise<void>;
}

/** The sender left before its body was complete: nobody is there to be answered. */
export class BodyAborted extends Error {
  override readonly name = 'BodyAborted';

  constructor(options?: ErrorOptions) {
    super('The connection closed before the body was complete.', options);
  }
}

/** What `readBody` needs of a request. */
export type BodyRequest = Readable & Pick<IncomingMessage, 'headers'>;

/** The most that is scanned before the loop turns to others or to a disk that does not keep up. */
const STEP_BYTES = 64 * 1024;

const INFLATE = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/**
 * Reads a query's body as it arrives, undoes its `Content-Encoding` (gzip, deflate, br) and decodes its files.
 *
 * After a rejection no content, file, timer or listener is left, and the request is paused where it stood: answer, then
 * `drain` or destroy it.
 *
 * @throws QueryError `invalid_json`, `limit_exceeded`, `unsupported_encoding`, `body_timeout` or `storage_full`
 * @throws BodyAborted if the sender left
 */
export function readBody(request: BodyRequest, limits: BodyLimits, spool: Spool): Promise<ReadDocument> {
  return new Promise((resolve, reject) => new Reading(request, limits, spool, resolve, reject).start());
}

/**
 * The same for a body that the host has parsed already: the same outcome, the same limits. A string or bytes are taken
 * for the JSON text itself. The host's value is left as it is.
 *
 * `documentBytes` is held against the shortest JSON text that the value has, escapes not counted.
 *
 * @throws QueryError `invalid_json` (text only), `limit_exceeded` or `storage_full`
 */
export async function readParsed(value: unknown, limits: BodyLimits, spool: Spool): Promise<ReadDocument> {
  const contents = new Contents(limits, spool);
  try {
    if (typeof value === 'string') return await scanWhole(Buffer.from(value), contents);
    if (value instanceof Uint8Array)
      return await scanWhole(Buffer.from(value.buffer, value.byteOffset, value.byteLength), contents);
    return await documentOf(await takeParsed(value, contents), contents);
  } catch (error) {
    await contents.discard();
    throw error;
  }
}

/**
 * Reads on and throws away, so that a sender that is still sending comes to read the answer: until the body ends, the
 * sender leaves, `maxBytes` have come or `maxMs` have passed. The request is then paused; destroy its socket.
 */
export function drain(request: Readable, maxBytes: number, maxMs: number): Promise<void> {
  return new Promise((resolve) => {
    let left = maxBytes;
    const stop = () => {
      clearTimeout(timer);
      request.off('data', onData).off('end', stop).off('error', stop).off('close', stop).pause();
      resolve();
    };
    const onData = (chunk: Buffer) => {
      left -= chunk.length;
      if (left <= 0) stop();
    };
    const timer = setTimeout(stop, maxMs);
    if (request.readableEnded || request.destroyed) return stop();
    request.on('data', onData).on('end', stop).on('error', stop).on('close', stop).resume();
  });
}

async function scanWhole(bytes: Buffer, contents: Contents): Promise<ReadDocument> {
  const scanner = new JsonScanner(contents);
  for (let at = 0; at < bytes.length; at += STEP_BYTES) {
    scanner.scan(bytes.subarray(at, at + STEP_BYTES));
    if (contents.congested) await contents.settled();
  }
  return documentOf(scanner.end(), contents);
}

async function documentOf(
  read: { value: unknown; contents: FileContent[] },
  contents: Contents,
): Promise<ReadDocument> {
  await contents.settled();
  return {
    ...read,
    async discard() {
      for (const content of read.contents) await content.discard();
      await contents.discard();
    },
  };
}

/** One body under way. Its source is paused while the disk does not keep up. */
class Reading {
  private readonly contents: Contents;
  private readonly scanner: JsonScanner;
  private readonly source: Readable;
  private timer: NodeJS.Timeout | undefined;
  private waiting = false;
  private ended = false;
  private over = false;

  constructor(
    private readonly request: BodyRequest,
    private readonly limits: BodyLimits,
    spool: Spool,
    private readonly resolve: (document: ReadDocument) => void,
    private readonly reject: (error: unknown) => void,
  ) {
    this.contents = new Contents(limits, spool);
    this.scanner = new JsonScanner(this.contents);
    this.source = inflated(request);
  }

  start(): void {
    const { request, source } = this;
    if (request.readableEnded) throw new Error('The body was read before.');
    if (request.destroyed) return this.fail(new BodyAborted());
    this.timer = setTimeout(this.onIdle, this.limits.idleMs);
    request.on('close', this.onClose).on('error', this.onLost);
    source.on('end', this.onEnd).on('data', this.onData);
    if (source !== request) request.pipe(source.on('error', this.onBadEncoding) as Duplex);
  }

  private readonly onData = (chunk: Buffer): void => {
    this.timer?.refresh();
    this.take(chunk);
  };

  private take(chunk: Buffer): void {
    try {
      for (let at = 0; at < chunk.length; at += STEP_BYTES) {
        this.scanner.scan(chunk.length <= STEP_BYTES ? chunk : chunk.subarray(at, at + STEP_BYTES));
        if (this.contents.congested) return this.waitForDisk(chunk.subarray(at + STEP_BYTES));
      }
    } catch (error) {
      this.fail(error);
    }
  }

  private waitForDisk(rest: Buffer): void {
    this.waiting = true;
    this.source.pause();
    this.contents.settled().then(
      () => this.goOn(rest),
      (error: unknown) => this.fail(error),
    );
  }

  private goOn(rest: Buffer): void {
    if (this.over) return;
    this.waiting = false;
    this.timer?.refresh();
    this.take(rest);
    if (this.waiting || this.over) return;
    if (this.ended) this.finish();
    else this.source.resume();
  }

  private readonly onEnd = (): void => {
    this.ended = true;
    if (!this.waiting) this.finish();
  };

  private finish(): void {
    try {
      const read = this.scanner.end();
      this.release();
      documentOf(read, this.contents).then(this.resolve, (error: unknown) => this.giveUp(error));
    } catch (error) {
      this.fail(error);
    }
  }

  private readonly onIdle = (): void => {
    if (this.waiting) {
      this.timer?.refresh();
      return;
    }
    const { idleMs } = this.limits;
    this.fail(new QueryError('body_timeout', `Nothing of the body came for ${idleMs} ms.`));
  };

  private readonly onClose = (): void => {
    if (!this.request.readableEnded) this.fail(new BodyAborted());
  };

  private readonly onLost = (cause: Error): void => this.fail(new BodyAborted({ cause }));

  private readonly onBadEncoding = (): void => {
    const encoding = this.request.headers['content-encoding'];
    this.fail(
      new QueryError(
        'invalid_json',
        `The body is cut off or not in the encoding "${encoding}" that it names.`,
      ),
    );
  };

  private fail(error: unknown): void {
    if (this.over) return;
    this.release();
    this.request.pause();
    this.giveUp(error);
  }

  private giveUp(error: unknown): void {
    this.contents.discard().then(
      () => this.reject(error),
      () => this.reject(error),
    );
  }

  /** Lets go of the request, the inflater and the timer. */
  private release(): void {
    const { request, source } = this;
    this.over = true;
    clearTimeout(this.timer);
    request.off('close', this.onClose).off('error', this.onLost);
    source.off('end', this.onEnd).off('data', this.onData);
    if (source === request) return;
    request.unpipe(source as Duplex);
    source.off('error', this.onBadEncoding).destroy();
  }
}

function inflated(request: BodyRequest): Readable {
  const encoding = request.headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return request;
  const inflate = INFLATE.get(encoding);
  if (inflate === undefined) {
    const detail = `The content encoding "${encoding}" is not read; send gzip, deflate, br or none.`;
    throw new QueryError('unsupported_encoding', detail);
  }
  return inflate({ chunkSize: STEP_BYTES });
}
