import { connectionLost, refusalOf } from './agent-query-error.js';
import { REFUSAL_BYTES } from './beginning-of.js';
import type { Connection, RequestParts } from './connection.js';

/** What is used of `XMLHttpRequest`: the only way in which a browser tells the progress of an upload. */
interface Request {
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
  parts: RequestParts,
  onUpload: (sentBytes: number, totalBytes: number | undefined) => void,
): Promise<Sent> {
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
      const runId = runIdOf(request);
      if (runId) resolve({ runId, close });
      if (request.status < 300 || request.responseText.length <= REFUSAL_BYTES) return;
      reject(refusal(request));
      close();
    };
    // Whatever was settled before stays.
    request.onloadend = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      reject(
        request.status < 300
          ? connectionLost(`No response came from ${connection.url()}.`)
          : refusal(request),
      );
    };
    signal?.addEventListener('abort', abort);
    request.open('POST', connection.url());
    headers.forEach((value, name) => request.setRequestHeader(name, value));
    request.send(body as Blob);
  });
}

function refusal(request: Request): Error {
  const { status, responseText } = request;
  return refusalOf(status, responseText, request.getResponseHeader('Retry-After'));
}

/**
 * The run, as soon as its id is certain: with the first bytes of a stream, or the JSON of a detached run. Browsers return a
 * response whose headers were cut.
 */
function runIdOf(request: Request): string | undefined {
  const { readyState, status, responseText } = request;
  if (status === 202 && readyState === 4) return /"id":"(.+?)"/.exec(responseText)?.[1];
  if (status !== 200 || responseText === '') return undefined;
  return (
    /^id: (.+)\.\d+$/m.exec(responseText)?.[1] ??
    request.getResponseHeader('Content-Location')?.split('/').at(-1)
  );
}
