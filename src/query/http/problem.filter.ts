import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Optional } from '@nestjs/common';
import type { ErrorCode, HostCode, Problem } from 'nest-agent-query-client';
import { drain } from '../body/request-bytes.js';
import { QueryError, refusalOf, titleOfStatus } from '../contract/errors.js';
import { Settings } from '../options/settings.js';
import {
  type HostRequest,
  type HostResponse,
  rawRequest,
  rawResponse,
  takeResponse,
} from '../platform/host.js';
import { loggerOf } from '../platform/module-logger.js';
import { Observers } from '../runs/observers.js';
import { isQuery } from './headers.js';
import { stackForLog, textForLog } from '../platform/text-for-log.js';

/** How much a caller that is refused while it sends may still send before it must read the answer. */
const DRAINED_BYTES = 64 * 1024 * 1024;

/** How long it may take. */
const DRAINED_MS = 5_000;

/** How a refusal is written: what the view of another protocol makes of a problem. A body that is no text is written as JSON. */
export type ProblemForm = (problem: Problem) => { status: number; contentType: string; body: unknown };

const RFC_9457: ProblemForm = (problem) => ({
  status: problem.status,
  // The adapters would add a `charset`, which the media type does not have (RFC 9457 §6.1).
  contentType: 'application/problem+json',
  body: problem,
});

/**
 * Answers every error of the endpoint as `application/problem+json` (RFC 9457). It is bound to the controller: the host's own
 * filters do not see these errors, and the host's other routes stay unchanged.
 */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(
    @Optional() private readonly observers?: Observers,
    @Optional() private readonly settings?: Settings,
    @Optional() private readonly form: ProblemForm = RFC_9457,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const response = http.getResponse<HostResponse>();
    const { headersSent, destroyed } = rawResponse(response);
    // The caller has closed the connection. This is no error of the service.
    if (destroyed) return;
    const problem = this.#problem(error);
    if (headersSent) return void rawResponse(response).destroy();

    const request = http.getRequest<HostRequest>();
    this.observers?.tellRefusedRequest(request, refusalOf(error), isQuery(request));
    const raw = takeResponse(response);
    if (error instanceof QueryError && error.extras.retryAfter !== undefined) {
      raw.setHeader('Retry-After', error.extras.retryAfter);
    }
    if (problem.size !== undefined) raw.setHeader('Content-Range', `bytes */${problem.size}`);
    void sendProblem(problem, raw, rawRequest(request), this.form);
  }

  /** An exception of the host keeps its status and its message. What is unexpected, only the log tells. */
  #problem(error: unknown): Problem {
    if (error instanceof HttpException) {
      const { status, code } = refusalOf(error);
      return problemOf(status, detailOf(error, status), code);
    }
    if (!(error instanceof QueryError)) {
      this.#log('A request failed.', stackForLog(error));
      const detail = 'The service failed, and has logged the cause. Try again later.';
      return this.#problem(new QueryError('internal', detail));
    }
    const { code, status, detail, cause } = error;
    // A 503 without a cause says that the service is full or stops, as often as callers try.
    if (status >= 500 && (status !== 503 || cause !== undefined))
      this.#log(textForLog(detail), stackForLog(cause));
    const { retryAfter: _, ...extras } = error.extras;
    return { ...problemOf(status, detail, code), ...extras, status };
  }

  #log(text: string, cause: unknown): void {
    loggerOf('Query', this.settings?.name).error(text, cause);
  }
}

/** Answers a request with a problem. */
export async function sendProblem(
  problem: Problem,
  response: ServerResponse,
  request: IncomingMessage,
  form = RFC_9457,
): Promise<void> {
  const { status, contentType, body: value } = form(problem);
  const body = Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
  response.writeHead(status, {
    'Content-Type': contentType,
    'Content-Length': body.length,
    'Cache-Control': 'no-store, no-transform',
    // The rest of a body that is not read must not be parsed as the next request.
    ...(!request.complete && { Connection: 'close' }),
  });
  response.write(body);
  // If the connection closes while the caller sends, the caller does not get the answer.
  if (!request.complete) await drain(request, DRAINED_BYTES, DRAINED_MS);
  response.end();
}

/** The problem of a status, with the phrase of the status as its title. */
export function problemOf(status: number, detail: string, code: ErrorCode | HostCode): Problem {
  return { type: 'about:blank', title: titleOfStatus(status), status, detail, code };
}

/** The message of an exception of the host. Nest and others make it of the name of the class, which is not for callers. */
function detailOf({ message, constructor }: HttpException, status: number): string {
  const text = message.replace(/^[A-Z]\w*(?:Exception|Error): /, '');
  const isName = text === constructor.name.match(/[A-Z][a-z]+|\d+/g)?.join(' ');
  const title = titleOfStatus(status);
  if (!isName && (text === message || text !== title)) return text;
  if (status === 429) return 'There were too many requests. Try again later.';
  return `The application has refused the request: ${title}.`;
}
