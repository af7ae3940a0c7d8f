import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Buffer } from 'node:buffer';
import { publicLookup, refusePrivate } from './public-lookup.js';

/** Of a response, no more bytes are read. */
const MAX_BYTES = 64 * 1024;

/** What an endpoint has answered. */
export interface Answer {
  status: number;
  /** The header `Retry-After`. */
  retryAfter: string | undefined;
}

/**
 * Sends a body, on a connection of its own. Redirects are not followed, and the body of the response is ignored.
 *
 * @param allowPrivate whether the address may be one that is not public
 * @param signal ends a request that takes too long. The status of a response that has begun counts all the same
 * @throws {PrivateAddress}
 * @throws Error there is no response
 */
export function post(
  url: URL,
  headers: Record<string, string>,
  body: Buffer,
  allowPrivate: boolean,
  signal: AbortSignal,
): Promise<Answer> {
  if (!allowPrivate) refusePrivate(url.hostname);
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  const options = { method: 'POST', headers: { ...headers, 'Content-Length': body.length }, signal };
  const request = send(url, {
    ...options,
    // No agent: its connections are those of other requests, whose addresses nobody has looked at.
    agent: false,
    ...(!allowPrivate && { lookup: publicLookup }),
  });
  request.end(body);
  return answerTo(request);
}

function answerTo(request: ClientRequest): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let answer: Answer | undefined;
    const answered = ({ statusCode, headers }: IncomingMessage) =>
      (answer = { status: statusCode!, retryAfter: headers['retry-after'] });
    request.on('response', (response) => {
      answered(response);
      let length = 0;
      response.on('data', (chunk: Buffer) => {
        length += chunk.length;
        if (length > MAX_BYTES) response.destroy();
      });
      response.on('error', () => undefined);
    });
    request.on('upgrade', (response, socket) => {
      answered(response);
      socket.destroy();
    });
    request.on('error', (error) => {
      if (!answer) reject(error);
    });
    // It comes in each case, also where the connection ends without an error.
    request.on('close', () => (answer ? resolve(answer) : reject(new Error('There is no response.'))));
  });
}
