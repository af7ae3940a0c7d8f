import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { type ErrorCode, QueryError } from './errors.js';
import { type HostRequest, type HostResponse, rawRequest, rawResponse } from './host.js';
import type { Problem } from './wire.js';

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

  constructor(private readonly adapterHost: HttpAdapterHost) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const response = http.getResponse<HostResponse>();
    const raw = rawResponse(response);
    const problem = this.#problem(error);
    if (raw.headersSent || raw.destroyed) return void raw.destroy();

    const adapter = this.adapterHost.httpAdapter;
    adapter.setHeader(response, 'Content-Type', 'application/problem+json');
    adapter.setHeader(response, 'Cache-Control', 'no-store');
    if (error instanceof QueryError && error.extras.retryAfter !== undefined) {
      adapter.setHeader(response, 'Retry-After', String(error.extras.retryAfter));
    }
    const request = rawRequest(http.getRequest<HostRequest>());
    // The rest of a body that is not read must not be taken for the next request.
    if (!request.complete) adapter.setHeader(response, 'Connection', 'close');
    adapter.reply(response, problem, problem.status);
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

function fromHost(error: HttpException): Problem {
  const status = error.getStatus();
  const code = CODE_OF_STATUS[status] ?? (status < 500 ? 'invalid_query' : 'internal');
  return { type: 'about:blank', title: new QueryError(code, '').title, status, detail: error.message, code };
}
