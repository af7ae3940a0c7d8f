import { MIMEType } from 'node:util';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { FileContent } from '../files/contents.js';
import { welcomeBody } from '../platform/host-parsers.js';
import { type BodyLimits, DEFAULT_BODY_LIMITS, refuseByLength } from '../body/limits.js';
import { readBody, type ReadDocument, readParsed } from '../body/read-body.js';
import { Spool } from '../files/spool.js';
import { QueryError } from '../contract/errors.js';
import { header, type HostRequest, rawRequest } from '../platform/host.js';
import { isPlainlyAnother } from './media-types.js';
import type { FilePart, Query, QueryPart } from '../ports/agent-handler.js';
import { FilePartDto, type QueryDto, validateQuery } from './query.dto.js';
import { MODULE_OPTIONS_TOKEN, type QueryModuleOptions } from '../options/query.options.js';

interface WithBody {
  body?: unknown;
}

/** A query that has arrived whole and is valid. */
export interface ReceivedQuery {
  query: Query;
  /** Gives up the files; to be called when nobody needs them any more. */
  release: () => void;
}

/** Reads the query out of a request: checks the headers, reads the body as it arrives, validates it, makes the files. */
@Injectable()
export class QueryReader {
  readonly #logger = new Logger('Query');
  readonly #limits: BodyLimits;

  constructor(
    @Inject(MODULE_OPTIONS_TOKEN) private readonly options: QueryModuleOptions,
    private readonly spool: Spool,
  ) {
    this.#limits = { ...DEFAULT_BODY_LIMITS, ...options.limits };
  }

  /**
   * @throws {QueryError} `unsupported_media_type`; whatever else is wrong with the request: see `refuseByLength`,
   * `readBody` and `validateQuery`
   * @throws {BodyAborted} the sender left
   */
  async read(request: HostRequest): Promise<ReceivedQuery> {
    requireJson(header(request, 'content-type'));
    refuseByLength(rawRequest(request).headers, this.#limits);
    const document = await this.#document(request);
    try {
      const query = await this.#query(validateQuery(document.value));
      return { query, release: () => void document.discard().catch((error) => this.#undiscarded(error)) };
    } catch (error) {
      await document.discard();
      throw error;
    }
  }

  /** The host may have parsed the body before us: a middleware (which Fastify runs on Node's request), a serverless adapter. */
  async #document(request: HostRequest): Promise<ReadDocument> {
    const raw = rawRequest(request);
    const body = (request as WithBody).body ?? (raw as WithBody).body;
    const isRead = raw.readableDidRead || raw.readableEnded;
    if (isRead && body !== undefined) return readParsed(body, this.#limits, this.spool);
    welcomeBody(raw);
    return readBody(raw, this.#limits, this.spool);
  }

  #undiscarded(error: unknown): void {
    this.#logger.warn(`The files of a query could not be removed: ${(error as Error).message}`);
  }

  async #query({ parts, kwargs }: QueryDto): Promise<Query> {
    const made: QueryPart[] = [];
    for (const [index, part] of parts.entries()) {
      if (part instanceof FilePartDto) made.push(await this.#file(part, index));
      else made.push({ type: 'text', text: part.text });
    }
    return { parts: made, kwargs: kwargs ?? {} };
  }

  async #file({ name, mimeType, base64 }: FilePartDto, index: number): Promise<FilePart> {
    const part: FilePart = {
      type: 'file',
      name,
      mimeType,
      sha256: base64.sha256,
      file: await base64.file(name, mimeType),
    };
    const detected = await detectOther(base64, mimeType);
    if (detected === undefined) return part;
    if (this.options.rejectMismatchedTypes) throw mismatch(index, mimeType, detected);
    return { ...part, detectedMimeType: detected };
  }
}

async function detectOther(content: FileContent, declared: string): Promise<string | undefined> {
  const detected = await content.detectType();
  return detected !== undefined && isPlainlyAnother(declared, detected) ? detected : undefined;
}

function requireJson(contentType: string | undefined): void {
  const sent =
    contentType === undefined ? 'none was sent' : `not ${JSON.stringify(contentType.slice(0, 100))}`;
  if (!isJson(contentType)) {
    throw new QueryError(
      'unsupported_media_type',
      `The body must be sent as Content-Type: application/json; ${sent}.`,
    );
  }
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
  const detail = `is said to be ${declared}, but its bytes are ${detected}`;
  return new QueryError('invalid_query', `"/parts/${index}" ${detail}.`, {
    errors: [{ pointer: `/parts/${index}/mimeType`, detail }],
  });
}
