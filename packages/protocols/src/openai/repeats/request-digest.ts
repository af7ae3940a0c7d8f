import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { type HostRequest, piecesOf, rawRequest, type ReceivedBody } from 'nest-agent-query/protocol';

/** Headers that clients, and what is between them and the service, make anew when a request is sent again. */
const OF_ONE_ATTEMPT = new Set([
  'x-stainless-retry-count',
  ...[
    'traceparent',
    'tracestate',
    'baggage',
    'sentry-trace',
    'b3',
    'x-b3-traceid',
    'x-b3-spanid',
    'x-b3-parentspanid',
  ],
  ...[
    'x-datadog-trace-id',
    'x-datadog-parent-id',
    'x-datadog-tags',
    'x-cloud-trace-context',
    'x-amzn-trace-id',
  ],
  ...[
    'x-request-id',
    'x-correlation-id',
    'x-request-start',
    'x-envoy-attempt-count',
    'x-amz-cf-id',
    'cf-ray',
  ],
  ...['fly-request-id', 'x-vercel-id'],
]);

/** A piece of so many characters is long enough that other requests have their turn. */
const LONG = 16 * 1024;

/** Callers that nobody has identified. */
const ANONYMOUS = 'anonymous';

/**
 * The SHA-256 of all that a request says of its caller and its question. Two requests with the same digest come from callers that
 * no application can tell apart: they differ in no header, such as a credential or a cookie, and without an owner not in the address.
 */
export async function requestDigest(
  request: HostRequest,
  owner: string,
  body: ReceivedBody,
): Promise<string> {
  const { url, headers, socket } = rawRequest(request);
  const head = Object.entries(headers).filter(([name]) => !OF_ONE_ATTEMPT.has(name));
  const address = owner === ANONYMOUS ? socket.remoteAddress : undefined;
  const hash = createHash('sha256');
  hash.update(JSON.stringify([owner, address, url, head.toSorted()]));
  for (const piece of piecesOf(body.value)) {
    hash.update(piece as string);
    if (piece.length >= LONG) await setImmediate();
  }
  return hash.digest('hex');
}
