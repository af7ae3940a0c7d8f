import { MIMEType } from 'node:util';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { refuseByLength } from '../body/refuse-by-length.js';
import { readBody, type ReadDocument, readParsed } from '../body/read-body.js';
import { QueryError } from '../contract/errors.js';
import { filePartOf } from '../files/file-part.js';
import { Spool } from '../files/spool.js';
import { type Reserve, type Upload, Uploads } from '../files/uploads.js';
import { Settings } from '../options/query.options.js';
import { header, type HostRequest, rawRequest } from '../platform/host.js';
import { sendContinue } from '../platform/host-parsers.js';
import { EventLoopShare } from '../platform/event-loop-share.js';
import { loggerOf } from '../platform/operator-log.js';
import { RunStore } from '../ports/run-store.js';
import { storedOwner } from '../sharing/owners.js';
import { FilePartDto, type QueryDto, validateQuery } from './query.dto.js';

interface WithBody {
  body?: unknown;
}

/** A valid query, with its files. */
export interface ReadQuery {
  query: QueryDto;
  /** Removes the files, and gives their bytes back to their owner. Call it when the run no longer needs them. */
  release: () => void;
}

/** Reads the query of a request: checks the headers, reads the body as it arrives, validates it, and opens the files. */
@Injectable()
export class QueryReader implements OnApplicationShutdown {
  readonly #uploads: Uploads;

  constructor(
    private readonly settings: Settings,
    private readonly spool: Spool,
    store: RunStore,
  ) {
    const reserve: Reserve = async (...of) => store.reserveUploads(...of);
    this.#uploads = new Uploads(
      settings.limits.filesBytesPerOwner,
      store.signals.isShared ? reserve : undefined,
    );
  }

  onApplicationShutdown(): void {
    this.#uploads.close();
  }

  /**
   * @throws {QueryError} `unsupported_media_type`, and the errors of `refuseByLength`, `readBody` and `validateQuery`
   * @throws {BodyAborted} the caller closed the connection
   */
  async read(request: HostRequest, owner: string): Promise<ReadQuery> {
    requireJson(header(request, 'content-type'));
    refuseByLength(rawRequest(request).headers, this.settings.limits);
    const upload = this.#uploads.begin(storedOwner(this.settings.name, owner));
    try {
      return await this.#query(request, upload);
    } catch (error) {
      upload.end();
      throw error;
    }
  }

  async #query(request: HostRequest, upload: Upload): Promise<ReadQuery> {
    const document = await this.#document(request, upload);
    try {
      const query = await validateQuery(document.value, this.settings.kwargs);
      const share = new EventLoopShare();
      for (const [index, part] of query.parts.entries()) {
        if (part instanceof FilePartDto) await this.#open(part, index);
        if (share.isUsedUp) await share.next();
      }
      const release = () => {
        upload.end();
        document.discard().catch((error) => this.#notRemoved(error));
      };
      return { query, release };
    } catch (error) {
      await document.discard();
      throw error;
    }
  }

  /** A middleware (which Fastify runs on Node's request) or a serverless adapter may have parsed the body already. */
  async #document(request: HostRequest, upload: Upload): Promise<ReadDocument> {
    const raw = rawRequest(request);
    const body = (request as WithBody).body ?? (raw as WithBody).body;
    const isRead = raw.readableDidRead || raw.readableEnded;
    if (isRead && body !== undefined) return readParsed(body, this.settings.limits, this.spool, upload);
    sendContinue(raw);
    return readBody(raw, this.settings.limits, this.spool, upload);
  }

  #notRemoved(error: unknown): void {
    loggerOf('Query', this.settings.name).warn(
      `The files of a query could not be removed: ${(error as Error).message}`,
    );
  }

  async #open(part: FilePartDto, index: number): Promise<void> {
    const content = part.base64!;
    delete part.base64;
    const opened = await filePartOf(content, part.name, part.mimeType);
    // With their getters: the `File` of a small content is made when the handler asks for it.
    Object.defineProperties(part, Object.getOwnPropertyDescriptors(opened));
    const { detectedMimeType } = opened;
    if (detectedMimeType === undefined || !this.settings.rejectMismatchedTypes) return;
    throw mismatch(index, part.mimeType, detectedMimeType);
  }
}

function requireJson(contentType: string | undefined): void {
  if (isJson(contentType)) return;
  const sent =
    contentType === undefined
      ? 'The request has none.'
      : `The request has ${JSON.stringify(contentType.slice(0, 100))}.`;
  throw new QueryError(
    'unsupported_media_type',
    `The body must be sent as Content-Type: application/json. ${sent}`,
  );
}

function isJson(contentType = ''): boolean {
  if (contentType === 'application/json') return true;
  try {
    const { essence, params } = new MIMEType(contentType);
    return essence === 'application/json' && /^utf-?8$/i.test(params.get('charset') ?? 'utf-8');
  } catch {
    return false;
  }
}

function mismatch(index: number, declared: string, detected: string): QueryError {
  const detail = `is declared as ${declared}, but its bytes are ${detected}`;
  return new QueryError('invalid_query', `"/parts/${index}" ${detail}.`, {
    errors: [{ pointer: `/parts/${index}/mimeType`, detail }],
  });
}
