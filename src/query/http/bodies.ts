import { MIMEType } from 'node:util';
import { Injectable } from '@nestjs/common';
import type { FieldError } from 'nest-agent-query-client';
import type { BodyPlace } from '../body/places.js';
import { readBody, type ReadDocument, readParsed } from '../body/read-body.js';
import { refuseByLength } from '../body/request-bytes.js';
import { QueryError } from '../contract/errors.js';
import { filesMissing, refusalOfFiles } from '../contract/refusals.js';
import { filePartOf } from '../files/content.js';
import { Spool } from '../files/spool.js';
import { type Transfer, Transfers } from '../files/transfers.js';
import { Settings } from '../options/settings.js';
import { EventLoopShare } from '../platform/event-loop-share.js';
import { header, type HostRequest, rawRequest } from '../platform/host.js';
import { sendContinue } from '../platform/host-parsers.js';
import { loggerOf } from '../platform/module-logger.js';
import { textForLog } from '../platform/text-for-log.js';
import { RunStore } from '../ports/run-store.js';
import { storedOwner } from '../sharing/owners.js';
import { FilePartDto, type QueryDto, validateQuery } from './query.dto.js';

const JSON_TYPE = 'application/json';

/** A document without files. What would be the content of one is refused at its first byte. */
const NO_FILES = { fileBytes: 0, filesBytes: 0 };

const NOT_SENT = 'is the digest of no file that you have sent, or it is no longer kept: send the file again';

type WithBody = { body?: unknown };

/** The document of a request, with the files in it. */
export interface ReceivedBody {
  /** See `ReadDocument`. */
  readonly value: unknown;
  /** Frees the files, unless a run has them by now. Never rejects; can be called again. */
  readonly release: () => Promise<void>;
}

interface OwnedBody extends ReceivedBody {
  readonly owner: string;
  readonly document: ReadDocument;
  readonly discard: () => Promise<void>;
  isHandedOver: boolean;
}

/** Reads the bodies of requests as they arrive, and makes queries of their documents. */
@Injectable()
export class Bodies {
  #hasToldParsed = false;

  constructor(
    private readonly settings: Settings,
    private readonly spool: Spool,
    private readonly transfers: Transfers,
    private readonly store: RunStore,
  ) {}

  /**
   * Reads a document with files, which count for an owner until they are released.
   *
   * @param places where the strings of files are. Default: where a query has them
   * @param mediaType a type of JSON that the body may have besides `application/json`. Default: none
   * @throws {QueryError} `unsupported_media_type`, and the errors of `refuseByLength` and `readBody`
   * @throws {BodyAborted} the caller closed the connection
   */
  async read(
    request: HostRequest,
    owner: string,
    places?: BodyPlace,
    mediaType = JSON_TYPE,
  ): Promise<ReceivedBody> {
    requireJson(header(request, 'content-type'), mediaType);
    refuseByLength(rawRequest(request).headers, this.settings.limits);
    const stored = storedOwner(this.settings.name, owner);
    const transfer = this.transfers.begin(stored);
    try {
      const document = await this.#document(request, this.settings.limits, transfer, places);
      const discard = () => {
        transfer.end();
        return document.discard().catch((error: unknown) => this.#notRemoved(error));
      };
      const release = async () => {
        if (!body.isHandedOver) await discard();
      };
      const { value } = document;
      const body: OwnedBody = { value, release, owner: stored, document, discard, isHandedOver: false };
      return body;
    } catch (error) {
      transfer.end();
      throw error;
    }
  }

  /** Reads a document without files. @throws the errors of `read` */
  async readValue(request: HostRequest): Promise<unknown> {
    requireJson(header(request, 'content-type'));
    return (await this.#document(request, { ...this.settings.limits, ...NO_FILES })).value;
  }

  /**
   * Makes a query of a body: validates it, and opens its files. If it is refused, the body is released.
   *
   * @param body what `read` has returned
   * @param value the query, with contents of the body as the `base64` of its parts. Default: the body itself
   * @throws {QueryError} `invalid_query` · `file_missing` · `limit_exceeded` · `storage_full` · `rate_limited` · `unavailable`
   */
  async query(body: ReceivedBody, value = body.value): Promise<QueryDto> {
    try {
      const query = await validateQuery(value, this.settings.kwargs);
      if (query.parts.some((part) => part instanceof FilePartDto)) {
        await this.#receiveSent(query, body as OwnedBody);
        await this.#openFiles(query);
      }
      return query;
    } catch (error) {
      await body.release();
      throw error;
    }
  }

  /** A run has the files of a body from now on. Returns what frees them: `release` of the body no longer does. */
  handOver(body: ReceivedBody): () => void {
    const owned = body as OwnedBody;
    owned.isHandedOver = true;
    return () => void owned.discard();
  }

  /** A middleware (which Fastify runs on Node's request) or a serverless adapter may have parsed the body already. */
  #document(
    request: HostRequest,
    limits: Settings['limits'],
    transfer?: Transfer,
    places?: BodyPlace,
  ): Promise<ReadDocument> {
    const raw = rawRequest(request);
    const body = (request as WithBody).body ?? (raw as WithBody).body;
    const isRead = raw.readableDidRead || raw.readableEnded;
    if (isRead && body !== undefined) {
      this.#tellParsed();
      return readParsed(body, limits, this.spool, transfer, places);
    }
    sendContinue(raw);
    return readBody(raw, limits, this.spool, transfer, places);
  }

  #tellParsed(): void {
    if (this.#hasToldParsed) return;
    this.#hasToldParsed = true;
    loggerOf('Query', this.settings.name).warn(
      'The host has parsed the body of a query before its endpoint could read it: the limits of that parser hold too. If the ' +
        'host is bundled, let the bundler keep the names of functions, by which the parsers of Express are found.',
    );
  }

  #notRemoved(error: unknown): void {
    loggerOf('Query', this.settings.name).warn(
      `The files of a query could not be removed: ${textForLog((error as Error).message)}`,
    );
  }

  /** Receives the contents that the query only names from the store. @throws {QueryError} `file_missing` */
  async #receiveSent({ parts }: QueryDto, { owner, document }: OwnedBody): Promise<void> {
    const missing: FieldError[] = [];
    for (const [index, part] of parts.entries()) {
      if (!(part instanceof FilePartDto) || part.base64) continue;
      const sent = await this.store.uploads?.find(owner, part.sha256);
      if (sent)
        part.base64 = await document.receive(sent, part.sha256, `/parts/${index}`).catch(throwRefusal);
      else missing.push({ pointer: `/parts/${index}/sha256`, detail: NOT_SENT });
    }
    if (missing.length > 0) throw filesMissing(missing);
  }

  async #openFiles({ parts }: QueryDto): Promise<void> {
    const share = new EventLoopShare();
    for (const [index, part] of parts.entries()) {
      if (part instanceof FilePartDto) await this.#open(part, index);
      if (share.isUsedUp) await share.next();
    }
  }

  async #open(part: FilePartDto, index: number): Promise<void> {
    const content = part.base64!;
    delete part.base64;
    const opened = await filePartOf(content, part.name, part.mimeType);
    // With their getters: the `File` of a small content is made when the handler reads it.
    Object.defineProperties(part, Object.getOwnPropertyDescriptors(opened));
    const { detectedMimeType } = opened;
    if (detectedMimeType === undefined || !this.settings.rejectMismatchedTypes) return;
    const detail = `is declared as ${part.mimeType}, but its bytes are ${detectedMimeType}`;
    throw new QueryError('invalid_query', `"/parts/${index}" ${detail}.`, {
      errors: [{ pointer: `/parts/${index}/mimeType`, detail }],
    });
  }
}

function throwRefusal(error: unknown): never {
  throw refusalOfFiles(error);
}

function requireJson(contentType: string | undefined, mediaType = JSON_TYPE): void {
  if (isJson(contentType, [JSON_TYPE, mediaType])) return;
  const sent = contentType === undefined ? 'none' : JSON.stringify(contentType.slice(0, 100));
  const detail = `The body must be sent as Content-Type: ${mediaType}. The request has ${sent}.`;
  throw new QueryError('unsupported_media_type', detail);
}

function isJson(contentType = '', types: readonly string[]): boolean {
  if (contentType === JSON_TYPE) return true;
  try {
    const { essence, params } = new MIMEType(contentType);
    return types.includes(essence) && /^utf-?8$/i.test(params.get('charset') ?? 'utf-8');
  } catch {
    return false;
  }
}
