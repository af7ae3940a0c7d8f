import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Logger } from '@nestjs/common';
import { drain } from '../body/read-body.js';
import { type ErrorCode, QueryError } from '../contract/errors.js';
import {
  type HostRequest,
  type HostResponse,
  rawRequest,
  rawResponse,
  takeResponse,
} from '../platform/host.js';
import type { Problem } from '../contract/wire.js';

/** A caller that is refused while it sends may send so much more before it must read the answer … */
const DRAINED_BYTES = 64 * 1024 * 1024;

/** … and for so long. */
const DRAINED_MS = 5_000;

/** What an exception of the host, such as one that its guard throws, is called among our codes. */
const CODE_OF_STATUS: Record<number, ErrorCode> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  408: 'body_timeout',
  409: 'session_busy',
  413: 'limit_exceeded',
  415: 'unsupported_media_type',
  429: 'rate_limited',
  503: 'unavailable',
};

/**
 * Answers every error of the endpoint as `application/problem+json` (RFC 9457). It is bound to the controller, so that
 * the host's own filters see nothing of it, and it changes nothing for the host's other routes.
 */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  readonly #logger = new Logger('Query');

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const response = http.getResponse<HostResponse>();
    const { headersSent, destroyed } = rawResponse(response);
    // The caller has left: nobody is there to be answered, and nothing went wrong here.
    if (destroyed) return;
    const problem = this.#problem(error);
    if (headersSent) return void rawResponse(response).destroy();

    const raw = takeResponse(response);
    if (error instanceof QueryError && error.extras.retryAfter !== undefined) {
      raw.setHeader('Retry-After', error.extras.retryAfter);
    }
    void send(problem, raw, rawRequest(http.getRequest<HostRequest>()));
  }

  #problem(error: unknown): Problem & { retryAfter?: undefined } {
    if (error instanceof QueryError) {
      if (error.status >= 500) this.#logger.error(error.detail, (error.cause as Error | undefined)?.stack);
      const { code, title, status, detail } = error;
      return { type: 'about:blank', title, status, detail, code, ...error.extras, retryAfter: undefined };
    }
    if (error instanceof HttpException) return fromHost(error);
    this.#logger.error('A request failed', error instanceof Error ? error.stack : error);
    return this.#problem(
      new QueryError('internal', 'The service failed, and has logged the cause. Try again later.'),
    );
  }
}

/** Written by hand: the adapters would add a `charset`, which the media type does not have (RFC 9457 §6.1). */
async function send(problem: Problem, response: ServerResponse, request: IncomingMessage): Promise<void> {
  const body = Buffer.from(JSON.stringify(problem));
  response.writeHead(problem.status, {
    'Content-Type': 'application/problem+json',
    'Content-Length': body.length,
    'Cache-Control': 'no-store, no-transform',
    // The rest of a body that is not read must not be taken for the next request.
    ...(!request.complete && { Connection: 'close' }),
  });
  response.write(body);
  // A connection that is closed while the caller is sending takes the answer with it.
  if (!request.complete) await drain(request, DRAINED_BYTES, DRAINED_MS);
  response.end();
}

function fromHost(error: HttpException): Problem {
  const status = error.getStatus();
  const code = CODE_OF_STATUS[status] ?? (status < 500 ? 'invalid_query' : 'internal');
  return { type: 'about:blank', title: new QueryError(code, '').title, status, detail: error.message, code };
}
