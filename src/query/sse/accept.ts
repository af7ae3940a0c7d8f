import Negotiator from 'negotiator';
import { type HostRequest, header } from '../platform/host.js';

/**
 * Whether the request accepts `text/event-stream` by name, in upper or lower case (RFC 9110 §8.3.1). A wildcard does not name
 * it.
 */
export function acceptsEventStream(request: HostRequest): boolean {
  const accept = header(request, 'accept')?.toLowerCase();
  if (accept === undefined || accept === '*/*') return false;
  return new Negotiator({ headers: { accept } }).mediaTypes().includes('text/event-stream');
}

/**
 * Whether a request that may get a stream or JSON prefers the stream (RFC 9110 §12.5.1, with q-values). It must name
 * `text/event-stream`. If both are equally preferred, the first one in the header counts.
 */
export function prefersEventStream(request: HostRequest): boolean {
  if (!acceptsEventStream(request)) return false;
  const accept = header(request, 'accept')!.toLowerCase();
  const [preferred] = new Negotiator({ headers: { accept } }).mediaTypes([
    'text/event-stream',
    'application/json',
  ]);
  return preferred === 'text/event-stream';
}
