import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { HttpAdapterHost } from '@nestjs/core';

/** A request as the host's adapter passes it on: Express passes Node's own, Fastify wraps it. */
export type HostRequest =
  (IncomingMessage & { raw?: undefined }) | { raw: IncomingMessage; headers: IncomingHttpHeaders };

/** A response as the host's adapter passes it on. */
export type HostResponse = {
  status(code: number): unknown;
  header(name: string, value: string): unknown;
  hasHeader(name: string): boolean;
  statusCode: number;
} & ((ServerResponse & { raw?: undefined }) | FastifyReply);

interface FastifyReply {
  raw: ServerResponse;
  getHeaders(): Record<string, number | string | string[] | undefined>;
  hijack(): unknown;
}

/**
 * Returns Node's request, for example for its method.
 *
 * @example
 * const { method } = rawRequest(request);
 */
export function rawRequest(request: HostRequest): IncomingMessage {
  return request.raw ?? request;
}

/**
 * Returns Node's response, for example to hear when its caller leaves.
 *
 * @example
 * rawResponse(response).once('close', leave);
 */
export function rawResponse(response: HostResponse): ServerResponse {
  return response.raw ?? response;
}

/**
 * Whether the connection of a response is closed, so that `close` does not come any more.
 *
 * @example
 * if (hasLeft(rawResponse(response))) return;
 */
export function hasLeft(response: ServerResponse): boolean {
  // A response of HTTP/2 has no `destroyed`.
  const { stream } = response as { stream?: { destroyed: boolean } };
  return stream?.destroyed ?? response.destroyed;
}

/**
 * Waits for the turn of a pipelined request: Node passes it on while the response before it is still being sent. Requests whose
 * method is not safe must be executed one after another (RFC 9112 §9.3.2), and not at all if that response closes the
 * connection (§9.6).
 *
 * @returns undefined if its turn has come; otherwise a promise: whether its turn comes before the connection is closed
 */
export function turnOf(request: HostRequest, response: HostResponse): Promise<boolean> | undefined {
  const raw = rawResponse(response);
  if (raw.socket !== null || raw.writableFinished || raw.destroyed) return undefined;
  return new Promise((resolve) => {
    raw.once('socket', () => resolve(true));
    const { socket } = rawRequest(request);
    // A request without a body may also be closed because it was read.
    rawRequest(request).once('close', () => socket.destroyed && resolve(false));
  });
}

/** What Fastify calls the symbol of the headers that a reply has set. */
const OWN_HEADERS = 'fastify.reply.headers';

/** Responses that are answered here. */
const taken = new WeakSet<ServerResponse>();

const answeringOnce = new WeakSet<object>();

/**
 * Lets Nest send what an interceptor of the host returns in place of a route, such as a cached answer. It would also send what our
 * routes return: nothing is sent behind a response that is answered here.
 */
export function answerOnce(adapter: HttpAdapterHost['httpAdapter'] | undefined): void {
  if (!adapter || answeringOnce.has(adapter)) return;
  answeringOnce.add(adapter);
  const reply = adapter.reply.bind(adapter) as (response: HostResponse, ...more: unknown[]) => unknown;
  adapter.reply = (response: HostResponse, ...more: unknown[]) =>
    taken.has(rawResponse(response)) ? undefined : reply(response, ...more);
}

/** Nest sends nothing more as this response. */
export function markAnswered(response: HostResponse): void {
  taken.add(rawResponse(response));
}

/**
 * Returns Node's response to write to it. The adapter leaves it alone from now on; the headers that it would have sent are set.
 *
 * @example
 * takeResponse(response).end('Hello');
 */
export function takeResponse(response: HostResponse): ServerResponse {
  markAnswered(response);
  if (!response.raw) return response;
  response.hijack();
  const { raw } = response;
  const headers = headersOf(response);
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined && value !== raw.getHeader(name)) raw.setHeader(name, value);
  }
  return raw;
}

/** Where a reply of Fastify has its own headers. */
let ownHeaders: symbol | undefined;

/** The headers of a reply that Node's response may not have: its own ones, of which there are few; or all of them. */
function headersOf(reply: FastifyReply): ReturnType<FastifyReply['getHeaders']> {
  const members = reply as unknown as Record<symbol, ReturnType<FastifyReply['getHeaders']> | undefined>;
  ownHeaders ??= Object.getOwnPropertySymbols(reply).find((each) => each.description === OWN_HEADERS);
  return (ownHeaders && members[ownHeaders]) ?? reply.getHeaders();
}

/**
 * Returns the path of the request as the caller sent it, with the prefixes of the host and without the query string.
 *
 * @example
 * const prefix = pathAsSent(request).slice(0, -route.length);
 */
export function pathAsSent(request: HostRequest): string {
  const { originalUrl, url } = request as { originalUrl?: string; url?: string };
  return (originalUrl ?? url ?? '').split('?', 1)[0]!;
}

/** The same without a slash at its end. */
export function requestPath(request: HostRequest): string {
  const path = pathAsSent(request);
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

/**
 * Returns a header of the request as one string; undefined if it is absent.
 *
 * @example
 * const accept = header(request, 'accept');
 */
export function header(request: HostRequest, name: string): string | undefined {
  const value = rawRequest(request).headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

/** Each value of a header that was sent several times. Node's `headers` joins them, or has only the first. */
export function headerValues({ headers, rawHeaders }: IncomingMessage, name: string): string[] {
  if (headers[name] === undefined) return [];
  // HTTP/2 has no `headersDistinct`.
  const values = rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]!.toLowerCase() === name,
  );
  // Requests that a tool injects may have no `rawHeaders` of their own.
  return values.length > 0 ? values : [headers[name]].flat();
}

/** The servers of an application. Fastify listens on the second address of "localhost" with a server of its own. */
export function serversOf(adapter: HttpAdapterHost['httpAdapter'] | undefined): unknown[] {
  if (!adapter) return [];
  const server: unknown = adapter.getHttpServer();
  if (adapter.getType() !== 'fastify') return [server];
  const fastify = adapter.getInstance<Record<symbol, unknown[]>>();
  const symbols = Object.getOwnPropertySymbols(fastify);
  const bindings = symbols.find(({ description }) => description === 'fastify.serverBindings');
  return bindings ? [server, ...fastify[bindings]!] : [server];
}
