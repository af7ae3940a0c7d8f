import { connectionLost, refusalOf } from './agent-query-error.js';
import type { Connection, RequestParts } from './connection.js';

/** What is used of `XMLHttpRequest`: the only way in which a browser tells the progress of an upload. */
interface Request extends EventTarget {
  readonly upload: EventTarget;
  readonly readyState: number;
  readonly status: number;
  readonly responseText: string;
  open(method: string, url: string): void;
  setRequestHeader(name: string, value: string): void;
  getResponseHeader(name: string): string | null;
  send(body: Blob): void;
  abort(): void;
}

/** A query that was sent and admitted. */
export interface Sent {
  runId: string;
  /** Closes the response, of which nothing is read. */
  close(): void;
}

declare const XMLHttpRequest: new () => Request;

/**
 * Sends a query from a browser.
 *
 * @param onUpload is told the bytes as they leave
 * @throws {AgentQueryError} the service refuses, or `connection_lost` · the reason of `signal`
 */
export async function upload(
  connection: Connection,
  { headers: own, body, signal }: RequestParts,
  onUpload: (sentBytes: number, totalBytes: number | undefined) => void,
): Promise<Sent> {
  const headers = await connection.headers(own);
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const close = () => request.abort();
    const abort = () => {
      close();
      reject(signal!.reason as Error);
    };
    request.upload.addEventListener('progress', (event) => {
      const { loaded, total } = event as Event & { loaded: number; total: number };
      onUpload(loaded, total);
    });
    request.addEventListener('readystatechange', () => {
      const runId = runIdOf(request);
      if (runId) resolve({ runId, close });
    });
    request.addEventListener('load', () => {
      const { status, responseText } = request;
      reject(
        status < 300
          ? connectionLost('The response was cut.')
          : refusalOf(status, responseText, request.getResponseHeader('Retry-After')),
      );
    });
    request.addEventListener('error', () =>
      reject(connectionLost('The upload was cut, or no response came.')),
    );
    request.addEventListener('loadend', () => signal?.removeEventListener('abort', abort));
    signal?.addEventListener('abort', abort, { once: true });
    request.open('POST', connection.url());
    headers.forEach((value, name) => request.setRequestHeader(name, value));
    request.send(body as Blob);
  });
}

/**
 * The run, as soon as its id is certain: with the first bytes of a stream, or the JSON of a detached run. Browsers return a
 * response whose headers were cut.
 */
function runIdOf(request: Request): string | undefined {
  const { readyState, status, responseText } = request;
  if (status === 202 && readyState === 4) return /"id":"(.+?)"/.exec(responseText)?.[1];
  if (status !== 200 || responseText === '') return undefined;
  const id = /^id: (.+)\.\d+$/m.exec(responseText)?.[1];
  return id ?? request.getResponseHeader('Content-Location')?.split('/').at(-1);
}
