import http from 'node:http';
import https from 'node:https';
import { Unmet } from '../unmet.js';
import { Reply } from './reply.js';

/** What a request has besides its body. */
export interface RequestOptions {
  /** Default `POST`. */
  method?: string;
  /** The path and the query string. Default: the endpoint. */
  path?: string;
  /** Those of the target come first. A POST has `Content-Type: application/json` unless these name another. */
  headers?: http.OutgoingHttpHeaders;
  body?: string | Uint8Array;
  /** Whether the response is not read until the check asks for it. Default false. */
  isStalled?: boolean;
}

/**
 * Sends one request on a connection of its own, and resolves when the head of its response has arrived.
 *
 * @throws {Unmet} the connection fails, or no head comes in time
 */
export async function send(url: URL, options: RequestOptions, waitMs: number): Promise<Reply> {
  const { method = 'POST', headers, body, isStalled = false } = options;
  const { request: open } = url.protocol === 'https:' ? https : http;
  const request = open(url, {
    method,
    agent: false,
    headers: { ...(method === 'POST' && { 'content-type': 'application/json' }), ...headers },
  });
  const timer = setTimeout(
    () => request.destroy(new Error(`nothing came within ${waitMs / 1_000} s`)),
    waitMs,
  );
  try {
    return await new Promise<Reply>((resolve, reject) => {
      request.on('response', (response) => resolve(new Reply(response, waitMs, !isStalled)));
      const fail = (why: string) => reject(new Unmet(`a response to ${method} ${url.pathname}`, why));
      request.on('error', ({ message }) => fail(message));
      // A response that switches the protocol is none, and ends the connection without an error.
      request.on('close', () => fail('the connection was closed'));
      request.end(body);
    });
  } finally {
    clearTimeout(timer);
  }
}
