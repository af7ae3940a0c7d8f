import type { connectionLost, refusalOf } from './agent-query-error.js';
import type { OnSent } from './body-stream.js';
import type { Connection, RequestParts } from './connection.js';

/*
 * Pages load this module with the first upload whose progress they show. It imports nothing that runs: a bundler would divide the
 * rest of the client for it.
 */

/** What would be imported otherwise. */
export interface Refusals {
  connectionLost: typeof connectionLost;
  refusalOf: typeof refusalOf;
  /** So much of a refusal is read, in bytes. */
  REFUSAL_BYTES: number;
}

/** What is used of `XMLHttpRequest`: the only way in which a browser tells the progress of an upload. */
export interface Request {
  readonly upload: {
    onprogress: (event: { loaded: number; total: number }) => void;
    onload: () => void;
  };
  readonly readyState: number;
  readonly status: number;
  readonly responseText: string;
  onreadystatechange: () => void;
  onloadend: () => void;
  open(method: string, url: string): void;
  setRequestHeader(name: string, value: string): void;
  getResponseHeader(name: string): string | null;
  send(body: Blob): void;
  abort(): void;
}

/** A body that was sent. */
export interface Sent<T> {
  /** What the response says. */
  value: T;
  /** Closes the response, of which nothing more is read. */
  close(): void;
}

declare const XMLHttpRequest: new () => Request;

/**
 * Sends a body from a browser.
 *
 * @param onUpload is told the bytes as they leave
 * @param read reads the beginning of a response of a status below 300; returns `undefined` while it needs more
 * @throws {AgentQueryError} the service refuses, or `connection_lost` · the reason of `signal`
 */
export async function upload<T>(
  connection: Connection,
  url: string,
  parts: RequestParts,
  onUpload: OnSent,
  read: (request: Request) => T | undefined,
  refusals: Refusals,
): Promise<Sent<T>> {
  const headers = await connection.headers(parts);
  const { body, signal } = parts;
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const close = () => request.abort();
    const abort = () => {
      reject(signal!.reason as Error);
      close();
    };
    let timer: ReturnType<typeof setTimeout>;
    request.upload.onprogress = ({ loaded, total }) => onUpload(loaded, total);
    request.upload.onload = () => {
      if (connection.idleMs > 0) timer = setTimeout(close, connection.idleMs);
    };
    request.onreadystatechange = () => {
      const value = request.status < 300 ? read(request) : undefined;
      if (value !== undefined) resolve({ value, close });
      if (request.status < 300 || request.responseText.length <= refusals.REFUSAL_BYTES) return;
      reject(refusal(request, refusals));
      close();
    };
    // Whatever was settled before stays.
    request.onloadend = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      reject(
        request.status < 300
          ? refusals.connectionLost(`No response came from ${url}.`)
          : refusal(request, refusals),
      );
    };
    signal?.addEventListener('abort', abort);
    request.open('POST', url);
    headers.forEach((value, name) => request.setRequestHeader(name, value));
    request.send(body as Blob);
  });
}

function refusal(request: Request, { refusalOf }: Refusals): Error {
  const { status, responseText } = request;
  return refusalOf(status, responseText, request.getResponseHeader('Retry-After'));
}

/**
 * The run, as soon as its id is certain: with the first bytes of a stream, or the JSON of a detached run. Browsers return a
 * response whose headers were cut.
 */
export function runIdOf(request: Request): string | undefined {
  const { readyState, status, responseText } = request;
  if (status === 202 && readyState === 4) return /"id":"(.+?)"/.exec(responseText)?.[1];
  if (status !== 200 || responseText === '') return undefined;
  return (
    /^id: (.+)\.\d+$/m.exec(responseText)?.[1] ??
    request.getResponseHeader('Content-Location')?.split('/').at(-1)
  );
}
