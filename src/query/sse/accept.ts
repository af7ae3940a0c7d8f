import Negotiator from 'negotiator';
import { type HostRequest, header } from '../platform/host.js';

const STREAM = 'text/event-stream';

/** Whether the request accepts a stream by name, in upper or lower case (RFC 9110 §8.3.1). A wildcard does not name it. */
export function acceptsEventStream(request: HostRequest): boolean {
  const accept = header(request, 'accept');
  return accept !== undefined && accept !== '*/*' && acceptedOf(accept).includes(STREAM);
}

/**
 * Whether a request that may get a stream or JSON names the stream and prefers it (RFC 9110 §12.5.1, with q-values). If both are
 * equally preferred, the first one in the header counts.
 */
export function prefersEventStream(request: HostRequest): boolean {
  if (!acceptsEventStream(request)) return false;
  return acceptedOf(header(request, 'accept')!, [STREAM, 'application/json'])[0] === STREAM;
}

function acceptedOf(accept: string, available?: string[]): string[] {
  return new Negotiator({ headers: { accept: accept.toLowerCase() } }).mediaTypes(available);
}
