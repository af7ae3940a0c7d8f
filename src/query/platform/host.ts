import type { IncomingMessage, ServerResponse } from 'node:http';

/** A request as the host's adapter hands it over: Express's is Node's own, Fastify's wraps it. */
export type HostRequest = (IncomingMessage & { raw?: undefined }) | { raw: IncomingMessage };

/** A response as the host's adapter hands it over. */
export type HostResponse =
  | (ServerResponse & { raw?: undefined })
  | {
      raw: ServerResponse;
      getHeaders(): Record<string, number | string | string[] | undefined>;
      hijack(): unknown;
    };

/** Node's request. */
export function rawRequest(request: HostRequest): IncomingMessage {
  return request.raw ?? request;
}

/** Node's response. */
export function rawResponse(response: HostResponse): ServerResponse {
  return response.raw ?? response;
}

/** Node's response for one who writes it himself: the adapter keeps its hands off, and what it would have sent is set. */
export function takeResponse(response: HostResponse): ServerResponse {
  if (!response.raw) return response;
  response.hijack();
  for (const [name, value] of Object.entries(response.getHeaders())) {
    if (value !== undefined) response.raw.setHeader(name, value);
  }
  return response.raw;
}

/** The path that the caller asked for, as it would have to ask again: with whatever prefixes the host has. */
export function requestPath(request: HostRequest): string {
  const { originalUrl, url } = request as { originalUrl?: string; url?: string };
  const path = (originalUrl ?? url ?? '').split('?', 1)[0]!;
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

/** A header of the request as one string; undefined where it is absent. */
export function header(request: HostRequest, name: string): string | undefined {
  const value = rawRequest(request).headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}
