import type { IncomingMessage } from 'node:http';
import { type ErrorCode, QueryError, STATUS_OF_CODE } from '../../query/index.js';
import { retryAfterMs } from './waiting.js';

/** The most bytes of a refusal that are read, and how long that may take. */
const READ_BYTES = 16 * 1024;
const READ_MS = 5_000;

/** The most characters of a sentence of the remote service that a caller reads. */
const SENTENCE_LENGTH = 500;

/** Faults of the query itself: the sentence of the remote service tells the caller what to change. */
const FAULTS_OF_QUERY: ReadonlySet<string> = new Set<ErrorCode>([
  'invalid_query',
  'limit_exceeded',
  'unsupported_media_type',
  'session_busy',
  'session_full',
]);

/** A response that is no stream. */
export interface Refusal {
  status: number;
  /** The code of the problem, if the remote service sends problems with codes as this service does. */
  code: string | undefined;
  /** What `Retry-After` asks for. */
  retryAfterMs: number;
  /** What the caller of the run reads. */
  error: QueryError;
}

/**
 * Reads a response that is no stream.
 *
 * @param clean takes secrets out of a text for the operator's log
 */
export async function refusalOf(
  response: IncomingMessage,
  clean: (text: string) => string,
): Promise<Refusal> {
  const text = await beginningOf(response);
  const status = response.statusCode!;
  const { code, detail } = problemOf(response, text);
  const cause = new Error(clean(`The remote service answered ${status}: ${text.slice(0, 2_000)}`));
  return {
    status,
    code,
    retryAfterMs: retryAfterMs(response.headers['retry-after']),
    error: errorOf(status, code, detail, cause),
  };
}

/** Whether a service, or a gateway before it, may answer otherwise at another try. */
export function isTransient(status: number): boolean {
  return status >= 502 && status <= 504;
}

/** Whether a code is of the closed list of this service. */
export function isKnownCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(STATUS_OF_CODE, code);
}

/** A sentence of the remote service, as callers may read it: one line of bounded length. */
export function sentenceOf(text: string): string {
  // eslint-disable-next-line no-control-regex
  const line = text.replace(/[\u0000-\u001f\u007f]+/g, ' ').trim();
  return line.length > SENTENCE_LENGTH ? `${line.slice(0, SENTENCE_LENGTH)}…` : line;
}

function errorOf(status: number, code: string | undefined, detail: unknown, cause: Error): QueryError {
  if (isKnownCode(code) && FAULTS_OF_QUERY.has(code) && typeof detail === 'string')
    return new QueryError(code, sentenceOf(detail), {}, { cause });
  if (status === 429)
    return new QueryError(
      'rate_limited',
      'The remote agent gets too many queries. Try again later.',
      {},
      { cause },
    );
  if (isTransient(status))
    return new QueryError(
      'unavailable',
      'The remote agent has no room at present. Try again later.',
      {},
      { cause },
    );
  const sentence =
    status === 401 || status === 403
      ? 'The remote agent refuses the credential of this service. Its operator must look at the log.'
      : `The remote agent refused the query with the status ${status}. The service has logged the cause.`;
  return new QueryError('handler_failed', sentence, {}, { cause });
}

function problemOf({ headers }: IncomingMessage, text: string): { code?: string; detail?: unknown } {
  if (!/^application\/problem\+json\b/i.test(headers['content-type'] ?? '')) return {};
  try {
    const { code, detail } = JSON.parse(text) as { code?: unknown; detail?: unknown };
    return typeof code === 'string' ? { code, detail } : {};
  } catch {
    return {};
  }
}

async function beginningOf(response: IncomingMessage): Promise<string> {
  const timer = setTimeout(() => response.destroy(), READ_MS);
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      if ((length += chunk.length) >= READ_BYTES) break;
    }
  } catch {
    // What has arrived is enough.
  }
  clearTimeout(timer);
  return Buffer.concat(chunks).toString();
}
