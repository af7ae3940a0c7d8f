import http from 'node:http';
import https from 'node:https';
import { decompressed, encodingOf } from './content-encoding.js';
import type { Target } from './target.js';

/** Bytes of a response, and when they came: milliseconds since the request began. */
export interface Piece {
  atMs: number;
  bytes: Buffer;
}

/** The head of a response. */
export interface Head {
  status: number;
  /** Names in lower case. */
  headers: http.IncomingHttpHeaders;
  /** Milliseconds since the request began. */
  atMs: number;
}

/** A response as its bytes came. */
export interface Exchange {
  head: Head | undefined;
  pieces: Piece[];
  /** `whole`: it ended as HTTP says. `cut`: the connection closed before. `stopped`: the doctor has read enough. */
  end: 'whole' | 'cut' | 'stopped';
  /** Milliseconds since the request began. */
  endMs: number;
  /** Why the connection failed, if it did. */
  error: NodeJS.ErrnoException | undefined;
}

/** What a request has. */
export interface RequestOptions {
  method: string;
  path: string;
  headers?: Record<string, string>;
  /** Writes the body. Default: there is none. */
  write?: (request: http.ClientRequest) => void | Promise<void>;
  /** After so many milliseconds the doctor stops reading. */
  limitMs: number;
  /** Stops reading as soon as it returns true. Called with each piece. */
  isEnough?: (exchange: Exchange) => boolean;
}

/** The service never answers the doctor with more. Another server might, without an end. */
const MAX_BYTES = 8 * 1024 * 1024;

/** Sends one request over HTTP/1.1 on a connection of its own, and reads the response. It never rejects. */
export function exchange(target: Target, options: RequestOptions): Promise<Exchange> {
  const { origin } = target;
  const { method, path, headers, write, limitMs, isEnough } = options;
  const start = performance.now();
  const result: Exchange = { head: undefined, pieces: [], end: 'cut', endMs: 0, error: undefined };
  let length = 0;
  return new Promise((resolve) => {
    const { request: open } = origin.protocol === 'https:' ? https : http;
    const request = open(new URL(path, origin), {
      method,
      agent: false,
      headers: { ...target.headers, ...headers },
    });
    const finish = (end: Exchange['end']) => {
      clearTimeout(timer);
      result.end = end;
      result.endMs = performance.now() - start;
      request.destroy();
      resolve(result);
    };
    const timer = setTimeout(() => finish('stopped'), limitMs);
    request.on('error', (error: NodeJS.ErrnoException) => {
      result.error ??= error;
      if (!result.head) finish('cut');
    });
    request.on('response', (response) => {
      const { statusCode, headers: received } = response;
      result.head = { status: statusCode!, headers: received, atMs: performance.now() - start };
      response.on('data', (bytes: Buffer) => {
        result.pieces.push({ atMs: performance.now() - start, bytes });
        length += bytes.length;
        if (length > MAX_BYTES || isEnough?.(result)) finish('stopped');
      });
      response.on('error', (error: NodeJS.ErrnoException) => (result.error ??= error));
      response.on('close', () => finish(response.complete ? 'whole' : 'cut'));
    });
    if (write) void Promise.resolve(write(request)).catch(() => undefined);
    else request.end();
  });
}

/** The body of a response as text. */
export function textOf({ head, pieces }: Exchange): string {
  const body = Buffer.concat(pieces.map(({ bytes }) => bytes));
  return decompressed(body, encodingOf(head?.headers)).toString();
}
