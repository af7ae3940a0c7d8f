import { BodyContents } from '../files/body-contents.js';
import type { BodyContent } from '../files/content.js';
import type { Spool } from '../files/spool.js';
import type { Transfer } from '../files/transfers.js';
import type { SentContent } from '../ports/upload-store.js';
import type { BodyLimits } from '../options/table.js';
import { EventLoopShare } from '../platform/event-loop-share.js';
import { jsonPieces } from '../platform/write-json.js';
import { JsonScanner } from './json-scanner.js';
import type { BodyPlace } from './places.js';
import { type BodyRequest, receiveBytes } from './request-bytes.js';

export interface ReadDocument {
  /**
   * What `JSON.parse` returns for the body, except the strings of files. In their places are a `BodyContent` each, or a
   * `Base64Fault` if the string is not base64, or a `DataUrl` with one of both.
   */
  value: unknown;
  /** The contents in `value`. */
  contents: BodyContent[];
  /**
   * Receives another content of the query, which the body has only named: it counts like those that the body has.
   *
   * @param sha256 its digest
   * @param pointer the JSON Pointer of its part
   * @throws {QueryError} `limit_exceeded` · `storage_full` · `rate_limited` · `unavailable`
   */
  receive(sent: SentContent, sha256: string, pointer: string): Promise<BodyContent>;
  /** Frees all contents and removes their files. Can be called again; does not reject for a file that is gone. */
  discard(): Promise<void>;
}

/** Bytes that are scanned at once, at most. Between two steps the reader can wait for a slow disk. */
const STEP_BYTES = 64 * 1024;

/**
 * Reads a query's body as it arrives, undoes its `Content-Encoding` (gzip, deflate, br) and decodes its files.
 *
 * After a rejection no content, file, timer or listener is left, and the request is paused where it was: answer it, then
 * `drain` or destroy it.
 *
 * @param transfer counts the bytes of the files. Default: they are not counted
 * @param places where the strings of files are. Default: where a query has them
 * @throws {QueryError} `invalid_json` · `limit_exceeded` · `unsupported_encoding` · `body_timeout` · `storage_full` ·
 * `rate_limited`
 * @throws {BodyAborted} if the sender left
 * @throws {Error} if the body was read before
 */
export function readBody(
  request: BodyRequest,
  limits: BodyLimits,
  spool: Spool,
  transfer?: Transfer,
  places?: BodyPlace,
): Promise<ReadDocument> {
  const body = new ScannedBody(new BodyContents(limits, spool, transfer), places);
  return body.read(receiveBytes(request, limits.idleMs, (bytes) => body.receive(bytes)));
}

/**
 * Reads a body that the host has already parsed, as the JSON text that it has: with the same outcome and the same limits as
 * `readBody`.
 *
 * @param value what the host's parser returned; it is not changed. A string or bytes are read as JSON text
 * @param transfer counts the bytes of the files. Default: they are not counted
 * @param places where the strings of files are. Default: where a query has them
 * @throws {QueryError} `invalid_json` (text only) · `limit_exceeded` · `storage_full` · `rate_limited`
 */
export function readParsed(
  value: unknown,
  limits: BodyLimits,
  spool: Spool,
  transfer?: Transfer,
  places?: BodyPlace,
): Promise<ReadDocument> {
  const body = new ScannedBody(new BodyContents(limits, spool, transfer), places);
  return body.read(body.scanAll(piecesOf(value)));
}

function* piecesOf(value: unknown): Generator<Buffer> {
  if (typeof value === 'string') yield Buffer.from(value);
  else if (value instanceof Uint8Array) yield Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  else for (const piece of jsonPieces(value)) yield Buffer.from(piece);
}

function* stepsOf(bytes: Buffer): Generator<Buffer> {
  for (let offset = 0; offset < bytes.length; offset += STEP_BYTES)
    yield bytes.subarray(offset, offset + STEP_BYTES);
}

/** A body, from its first byte until its document is complete. */
class ScannedBody {
  readonly #share = new EventLoopShare();
  readonly #scanner: JsonScanner;

  constructor(
    private readonly contents: BodyContents,
    places: BodyPlace | undefined,
  ) {
    this.#scanner = new JsonScanner(contents, places);
  }

  /** Returns the document once all bytes are `scanned`. If the body cannot be read, all that it brought is removed. */
  async read(scanned: Promise<void>): Promise<ReadDocument> {
    const { contents: all } = this;
    try {
      await scanned;
      const { value, contents } = this.#scanner.end();
      await all.settled();
      for (const { size } of contents) all.spool.receive(size);
      const discard = async () => {
        for (const content of contents) await content.discard();
        await all.discard();
      };
      return { value, contents, receive: (...sent) => all.receive(...sent), discard };
    } catch (error) {
      await all.discard().catch(() => undefined);
      throw error;
    }
  }

  /** Scans bytes that have arrived in this turn of the event loop. Returns a promise if what follows must wait. */
  receive(bytes: Buffer): Promise<void> | undefined {
    this.#share.begin();
    return this.#scan(bytes);
  }

  async scanAll(pieces: Iterable<Buffer>): Promise<void> {
    for (const piece of pieces) await this.#scan(piece);
  }

  /** What follows waits for a slow disk, or because other requests have their turn. */
  #scan(bytes: Buffer): Promise<void> | undefined {
    if (bytes.length > STEP_BYTES) return this.scanAll(stepsOf(bytes));
    this.#scanner.scan(bytes);
    if (this.contents.isCongested) return this.contents.settled();
    return this.#share.isUsedUp ? this.#share.next() : undefined;
  }
}
