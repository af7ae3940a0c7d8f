import { QueryError } from '../contract/errors.js';
import { header, type HostRequest, headerValues, rawRequest } from '../platform/host.js';

/** A run, and the number of the last event of it that a client has. */
export interface Cursor {
  runId: string;
  seq: number;
}

/** Whether a request of the endpoint submits a query, as its head says. A POST with a cursor resumes a run. */
export function isQuery(request: HostRequest): boolean {
  return rawRequest(request).method === 'POST' && !header(request, 'last-event-id');
}

const IS_QUERY = Symbol('isQuery');

/**
 * Says of the routes of a controller which requests may submit a query, as far as their heads tell. The others do not count where
 * queries are limited. Default: see `isQuery`.
 *
 * @example
 * @SubmitsQueries((request) => header(request, 'mcp-method') === 'tools/call')
 * class ToolsController {}
 */
export const SubmitsQueries =
  (isOne: (request: HostRequest) => boolean): ClassDecorator =>
  (controller) =>
    Reflect.defineMetadata(IS_QUERY, isOne, controller);

/** What `SubmitsQueries` says of a controller, or `isQuery`. */
export function isQueryOf(controller: object, request: HostRequest): boolean {
  const isOne = Reflect.getMetadata(IS_QUERY, controller) as typeof isQuery | undefined;
  return (isOne ?? isQuery)(request);
}

/**
 * Reads `Last-Event-ID` (WHATWG HTML §9.2.4); of a `GET` without that header, the parameter `lastEventId`, which some clients send
 * in its place. Or throws `invalid_query`. What is empty counts as absent.
 *
 * @example
 * const cursor = cursorOf(request);
 * if (cursor) return this.agent.follow(owner, cursor.runId, cursor.seq);
 */
export function cursorOf(request: HostRequest): Cursor | undefined {
  const lastEventId = onlyHeader(request, 'Last-Event-ID');
  if (lastEventId) return cursorIn('Last-Event-ID', lastEventId);
  if (rawRequest(request).method !== 'GET') return undefined;
  const { lastEventId: parameter = '' } = (request as { query?: Record<string, unknown> }).query ?? {};
  return parameter === '' ? undefined : cursorIn('The parameter "lastEventId"', parameter);
}

/** @param name how a refusal names the place of the id */
function cursorIn(name: string, id: unknown): Cursor {
  const [, runId, seq] = (typeof id === 'string' && /^([\w-]{1,100})\.(\d{1,15})$/.exec(id)) || [];
  if (runId !== undefined) return { runId, seq: Number(seq) };
  const detail = `${name} must be the id of an event of this service, "{runId}.{number}".`;
  throw new QueryError('invalid_query', detail);
}

/**
 * Reads the cursor of `GET {base}/query/{runId}`: `Last-Event-ID`, or the parameter `lastEventId`, or the parameter `after`, or 0. Or
 * throws `invalid_query`.
 */
export function cursorOfRun(runId: string, request: HostRequest, after = '0'): number {
  const cursor = cursorOf(request);
  if (cursor && cursor.runId !== runId)
    throw new QueryError('invalid_query', 'Last-Event-ID belongs to another run than the path.');
  if (cursor) return cursor.seq;
  const seq = /^\d{1,16}$/.test(after) ? Number(after) : NaN;
  if (seq <= Number.MAX_SAFE_INTEGER) return seq;
  const detail = `The parameter "after" must be a whole number from 0 to ${Number.MAX_SAFE_INTEGER}.`;
  throw new QueryError('invalid_query', detail);
}

/**
 * Reads `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header), or throws `invalid_query`. It is a quoted string. A bare
 * value is common, and is accepted unchanged.
 *
 * @example
 * await endpoint.submit(body, query, { owner, idempotencyKey: idempotencyKeyOf(request) }, pointerOf);
 */
export function idempotencyKeyOf(request: HostRequest): string | undefined {
  const value = onlyHeader(request, 'Idempotency-Key');
  if (value === undefined) return undefined;
  const key = /^"(.*)"$/.exec(value)?.[1] ?? value;
  if (key !== '' && key.length <= 255) return key;
  throw new QueryError('invalid_query', 'Idempotency-Key must have 1 to 255 characters.');
}

/** Reads `Session-After`: the query replaces the turns after this number. Or throws `invalid_query`. */
export function afterTurnOf(request: HostRequest): number | undefined {
  const value = onlyHeader(request, 'Session-After');
  if (value === undefined) return undefined;
  if (/^\d{1,15}$/.test(value)) return Number(value);
  throw new QueryError('invalid_query', 'Session-After must be a whole number from 0: the number of a turn.');
}

/** Whether `Prefer` wants an asynchronous response (RFC 7240 §4.1). */
export function prefersAsync(prefer = ''): boolean {
  return prefer
    .split(',')
    .some((preference) => preference.split(';', 1)[0]!.trim().toLowerCase() === 'respond-async');
}

/** A header that has one value: several would be joined to one that nobody has sent. */
function onlyHeader(request: HostRequest, name: string): string | undefined {
  const field = name.toLowerCase();
  if (headerValues(rawRequest(request), field).length > 1)
    throw new QueryError('invalid_query', `The request has the header ${name} more than once. Send it once.`);
  return header(request, field);
}
