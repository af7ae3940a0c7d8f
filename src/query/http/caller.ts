import { createParamDecorator, type ExecutionContext, Injectable, type PipeTransform } from '@nestjs/common';
import { Settings } from '../options/settings.js';
import { header, type HostRequest, rawRequest, requestPath } from '../platform/host.js';
import { ANONYMOUS, type QueryOptions } from '../runs/agent.service.js';
import { Observers } from '../runs/observers.js';
import { type Cursor, cursorOf, idempotencyKeyOf, prefersAsync } from './headers.js';
import type { QueryDto } from './query.dto.js';
import { QueryReader } from './query.reader.js';

/** The request of a route parameter. Its only member is private, so that a global pipe of the host finds nothing to change. */
class PendingRequest {
  readonly #request: HostRequest;

  constructor(request: HostRequest) {
    this.#request = request;
  }

  get request(): HostRequest {
    return this.#request;
  }
}

const OfRequest = createParamDecorator(
  (_: unknown, context: ExecutionContext) =>
    new PendingRequest(context.switchToHttp().getRequest<HostRequest>()),
);

/** Who asks, and what the head of the request says. */
export interface Caller extends QueryOptions {
  owner: string;
  path: string;
  cursor: Cursor | undefined;
}

/** Where a request has its caller. Not in the pipe, of which Nest makes several: one for parameters, and one to inject. */
const CALLER = Symbol('caller');

/** Finds the owner of a request, as the option `owner` says. */
@Injectable()
export class OwnerPipe implements PipeTransform<PendingRequest, Promise<string>> {
  constructor(
    private readonly settings: Settings,
    private readonly observers: Observers,
  ) {}

  async transform({ request }: PendingRequest): Promise<string> {
    const owner = (await this.settings.owner(request as never)) ?? ANONYMOUS;
    this.observers.ownerIs(request, owner);
    return owner;
  }
}

/** Reads the head of a `POST`, once for each request. The body of a caller without access is not read. */
@Injectable()
export class CallerPipe implements PipeTransform<PendingRequest, Promise<Caller>> {
  constructor(private readonly owners: OwnerPipe) {}

  /** @throws {QueryError} the headers are not valid */
  transform(pending: PendingRequest): Promise<Caller> {
    const request = pending.request as HostRequest & { [CALLER]?: Promise<Caller> };
    return (request[CALLER] ??= this.#read(pending));
  }

  async #read(pending: PendingRequest): Promise<Caller> {
    const { request } = pending;
    const owner = await this.owners.transform(pending);
    const cursor = cursorOf(request);
    const path = requestPath(request);
    if (cursor) return { owner, cursor, path, request: request as never };
    const idempotencyKey = idempotencyKeyOf(request);
    const detached = prefersAsync(header(request, 'prefer'));
    return { owner, cursor, path, idempotencyKey, detached, request: request as never };
  }
}

/** Reads and validates the body of a query. A request that resumes a run has none: what it sends is not read. */
@Injectable()
export class QueryBodyPipe implements PipeTransform<PendingRequest, Promise<QueryDto | undefined>> {
  constructor(
    private readonly caller: CallerPipe,
    private readonly reader: QueryReader,
  ) {}

  /** @throws {QueryError} the headers or the body are not valid */
  async transform(pending: PendingRequest): Promise<QueryDto | undefined> {
    const { request } = pending;
    const caller = await this.caller.transform(pending);
    if (caller.cursor) {
      rawRequest(request).resume();
      return undefined;
    }
    const { query, release } = await this.reader.read(request, caller.owner);
    caller.release = release;
    return query;
  }
}

/** A parameter of a route: the query in the body. */
export const QueryBody = () => OfRequest(QueryBodyPipe);
/** A parameter of a route: who asks, and what the head of the request says. */
export const FromCaller = () => OfRequest(CallerPipe);
/** A parameter of a route: the owner of the runs that the caller may see. */
export const Owner = () => OfRequest(OwnerPipe);
