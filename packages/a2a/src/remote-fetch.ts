import { Buffer } from 'node:buffer';
import http from 'node:http';
import https from 'node:https';
import { withoutSecrets } from 'nest-agent-query/agents';
import type { RemoteSettings } from 'nest-agent-query/agents/remote';
import { beginningOf, connectionLost, refusalOf } from 'nest-agent-query-client/streams';

/** The most bytes of a response that is no stream. */
const WHOLE_BYTES = 64 * 1024 * 1024;

/** How long a refusal is read. */
const READ_MS = 5_000;

/** After so much silence the system asks whether the other machine is still there. A silent agent is no fault. */
const TCP_KEEP_ALIVE_MS = 30_000;

/** Refusals that do not depend on what was asked. */
const OF_SERVICE = [401, 403, 429, 502, 503, 504];

/**
 * A `fetch` for the client of the SDK: it adds the configured headers, follows no redirect, asks no other origin, and waits for a
 * silent agent as long as it takes. Each request has a connection of its own: one that was used before may end at the moment of
 * the request, and then nobody knows whether the agent has got it.
 *
 * It throws `AgentQueryError`, except where the body of a refusal has an error of A2A, which the SDK reads.
 */
export function remoteFetch({ url, headers: configured }: RemoteSettings): typeof fetch {
  const { request } = url.protocol === 'https:' ? https : http;

  const send = (target: URL, { method, headers, body, signal }: RequestInit) =>
    new Promise<http.IncomingMessage>((resolve, reject) => {
      const sent = request(target, {
        method: method ?? 'GET',
        headers: {
          ...configured,
          ...Object.fromEntries(new Headers(headers)),
          ...(typeof body === 'string' && { 'content-length': Buffer.byteLength(body) }),
        },
        agent: false,
        ...(signal && { signal }),
      });
      sent.on('socket', (socket) => socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS));
      sent.on('response', (response) => {
        // Whoever reads the response gets its errors; one that nobody reads must not end the process.
        response.on('error', () => undefined);
        resolve(response);
      });
      sent.on('error', (error) => reject(connectionLost(error.message, error)));
      // A response that switches the protocol is none, and ends the connection without an error.
      sent.on('close', () => reject(connectionLost('The connection was closed before a response.')));
      sent.end(body);
    });

  return async (input, init = {}) => {
    const target = new URL(input instanceof Request ? input.url : input);
    if (target.origin !== url.origin)
      throw new TypeError('The agent is only asked at the origin of its card.');
    const response = await send(target, init);
    const { statusCode: status = 0, headers } = response;
    const type = headers['content-type'] ?? '';
    const most = /^text\/event-stream\b/i.test(type) ? Infinity : WHOLE_BYTES;
    if (status >= 200 && status < 300)
      return new Response(bodyOf(response, most), { status, headers: { 'content-type': type } });
    const timer = setTimeout(() => response.destroy(), READ_MS);
    const text = await beginningOf(bodyOf(response).getReader()).finally(() => clearTimeout(timer));
    const shown = withoutSecrets(text, Object.values(configured));
    if (!OF_SERVICE.includes(status) && hasError(shown)) return new Response(shown, { status });
    const refusal = refusalOf(status, '', headers['retry-after'] ?? null);
    refusal.cause = new Error(`The agent answered ${status}: ${shown.slice(0, 2_000)}`);
    throw refusal;
  };
}

/** The bytes of a response, which are read as they are asked for. */
function bodyOf(response: http.IncomingMessage, most = Infinity): ReadableStream<Uint8Array> {
  const chunks = response.iterator() as AsyncIterator<Uint8Array, undefined>;
  let length = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value } = await chunks.next().catch((error: Error) => {
          throw connectionLost(error.message, error);
        });
        if (!value) return controller.close();
        length += value.length;
        if (length <= most) return controller.enqueue(value);
        response.destroy();
        throw new RangeError(`The response has more than ${most} bytes.`);
      },
      cancel: () => void response.destroy(),
    },
    { highWaterMark: 0 },
  );
}

function hasError(text: string): boolean {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === 'object' && error !== null;
  } catch {
    return false;
  }
}
