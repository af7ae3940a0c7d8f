import { MIMEType } from 'node:util';
import { Injectable, type PipeTransform } from '@nestjs/common';
import { refuseByLength } from '../body/request-bytes.js';
import { readBody, type ReadDocument, readParsed } from '../body/read-body.js';
import type { FieldError } from 'nest-agent-query-client';
import { QueryError } from '../contract/errors.js';
import { filesMissing, refusalOfFiles } from '../contract/refusals.js';
import { filePartOf } from '../files/content.js';
import { Spool } from '../files/spool.js';
import { type Upload, Uploads } from '../files/uploads.js';
import { Settings } from '../options/settings.js';
import { header, type HostRequest, rawRequest } from '../platform/host.js';
import { sendContinue } from '../platform/host-parsers.js';
import { EventLoopShare } from '../platform/event-loop-share.js';
import { loggerOf } from '../platform/module-logger.js';
import { isThenable } from '../ports/file-store.js';
import { RunStore } from '../ports/run-store.js';
import { storedOwner } from '../sharing/owners.js';
import { type AnswersDto, validateAnswers } from './answers.dto.js';
import { CallerPipe, OfBothParameters, type PendingRequest } from './caller.js';
import { type ForkDto, validateFork } from './fork.dto.js';
import { FilePartDto, type QueryDto, validateQuery } from './query.dto.js';

/** What a query would have as the content of a file is refused at its first byte. */
const NO_FILES = { fileBytes: 0, filesBytes: 0 };

const NOT_SENT = 'is the digest of no file that you have sent, or it is no longer kept: send the file again';

type WithBody = { body?: unknown };

/** Reads the query of a request: checks the headers, reads the body as it arrives, validates it, and opens the files. */
@Injectable()
export class QueryReader implements PipeTransform<PendingRequest, Promise<QueryDto | undefined>> {
  constructor(
    private readonly callers: CallerPipe,
    private readonly settings: Settings,
    private readonly spool: Spool,
    private readonly uploads: Uploads,
    private readonly store: RunStore,
  ) {}

  /**
   * The body of a caller without access is not read, and neither is that of a request that resumes a run: it has no query.
   *
   * @throws {QueryError} `unsupported_media_type`, and the errors of `CallerPipe`, `refuseByLength`, `readBody` and `validateQuery`
   * @throws {BodyAborted} the caller closed the connection
   */
  async transform(pending: PendingRequest): Promise<QueryDto | undefined> {
    const { request } = pending();
    const found = this.callers.transform(pending);
    const caller = isThenable(found) ? await found : found;
    if (caller.cursor) {
      rawRequest(request).resume();
      return undefined;
    }
    requireJson(header(request, 'content-type'));
    refuseByLength(rawRequest(request).headers, this.settings.limits);
    const owner = storedOwner(this.settings.name, caller.owner);
    const upload = this.uploads.begin(owner);
    let document: ReadDocument | undefined;
    const release = async () => {
      upload.end();
      await document?.discard();
    };
    try {
      document = await readDocument(request, this.settings, this.spool, upload);
      const query = await validateQuery(document.value, this.settings.kwargs);
      await this.#receiveSent(query, owner, document);
      await this.#openFiles(query);
      // Called when the run no longer needs the files.
      caller.release = () => void release().catch((error) => this.#notRemoved(error));
      return query;
    } catch (error) {
      await release();
      throw error;
    }
  }

  #notRemoved(error: unknown): void {
    loggerOf('Query', this.settings.name).warn(
      `The files of a query could not be removed: ${(error as Error).message}`,
    );
  }

  /** Receives the contents that the query only names from the store. @throws {QueryError} `file_missing` */
  async #receiveSent({ parts }: QueryDto, owner: string, document: ReadDocument): Promise<void> {
    const missing: FieldError[] = [];
    for (const [index, part] of parts.entries()) {
      if (!(part instanceof FilePartDto) || part.base64) continue;
      const sent = await this.store.uploads?.find(owner, part.sha256);
      if (sent) part.base64 = await document.receive(sent.read(), index).catch(throwRefusal);
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
    // With their getters: the `File` of a small content is made when the handler asks for it.
    Object.defineProperties(part, Object.getOwnPropertyDescriptors(opened));
    const { detectedMimeType } = opened;
    if (detectedMimeType === undefined || !this.settings.rejectMismatchedTypes) return;
    const detail = `is declared as ${part.mimeType}, but its bytes are ${detectedMimeType}`;
    throw new QueryError('invalid_query', `"/parts/${index}" ${detail}.`, {
      errors: [{ pointer: `/parts/${index}/mimeType`, detail }],
    });
  }
}

/** Reads and validates a body without files. The body of a caller without access is not read. */
@Injectable()
abstract class DocumentReader<T> implements PipeTransform<PendingRequest, Promise<T>> {
  constructor(
    private readonly callers: CallerPipe,
    private readonly settings: Settings,
    private readonly spool: Spool,
  ) {}

  protected abstract validate(value: unknown): T;

  /** @throws {QueryError} `unsupported_media_type`, and the errors of `CallerPipe`, `readBody` and `validate` */
  async transform(pending: PendingRequest): Promise<T> {
    const { request } = pending();
    await this.callers.transform(pending);
    requireJson(header(request, 'content-type'));
    const limits = { ...this.settings.limits, ...NO_FILES };
    const { value } = await readDocument(request, { limits }, this.spool);
    return this.validate(value);
  }
}

@Injectable()
export class AnswersReader extends DocumentReader<AnswersDto> {
  protected validate = validateAnswers;
}

@Injectable()
export class ForkReader extends DocumentReader<ForkDto> {
  protected validate = validateFork;
}

/** Reads a body. A middleware (which Fastify runs on Node's request) or a serverless adapter may have parsed it already. */
function readDocument(
  request: HostRequest,
  { limits }: Pick<Settings, 'limits'>,
  spool: Spool,
  upload?: Upload,
): Promise<ReadDocument> {
  const raw = rawRequest(request);
  const body = (request as WithBody).body ?? (raw as WithBody).body;
  const isRead = raw.readableDidRead || raw.readableEnded;
  if (isRead && body !== undefined) return readParsed(body, limits, spool, upload);
  sendContinue(raw);
  return readBody(raw, limits, spool, upload);
}

/** A parameter of a route: the answers in the body. */
export const AnswersBody = () => OfBothParameters(AnswersReader);

/** A parameter of a route: the fork in the body. */
export const ForkBody = () => OfBothParameters(ForkReader);

/** A parameter of a route: the query in the body. Undefined where the caller resumes a run. */
export const QueryBody = () => OfBothParameters(QueryReader);

function throwRefusal(error: unknown): never {
  throw refusalOfFiles(error);
}

function requireJson(contentType: string | undefined): void {
  if (isJson(contentType)) return;
  const sent = contentType === undefined ? 'none' : JSON.stringify(contentType.slice(0, 100));
  const detail = `The body must be sent as Content-Type: application/json. The request has ${sent}.`;
  throw new QueryError('unsupported_media_type', detail);
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
