import { createParamDecorator, type ExecutionContext, Injectable, type PipeTransform } from '@nestjs/common';
import { Settings } from '../options/query.options.js';
import { type Awaitable, isThenable } from '../ports/file-store.js';
import { header, type HostRequest, rawRequest, requestPath } from '../platform/host.js';
import { ANONYMOUS, type QueryOptions } from '../runs/agent.service.js';
import { Observers } from '../runs/observers.js';
import { type Cursor, cursorOf, idempotencyKeyOf, prefersAsync } from './headers.js';
import type { QueryDto } from './query.dto.js';
import { QueryReader } from './query.reader.js';

/** The request of route parameters. Its members are private, so that a global pipe of the host finds nothing to change. */
class PendingRequest {
  readonly #request: HostRequest;
  #caller: Awaitable<Caller> | undefined;

  constructor(request: HostRequest) {
    this.#request = request;
  }

  get request(): HostRequest {
    return this.#request;
  }

  /** What `read` returns. It is called once, also if it throws. */
  callerBy(read: (request: PendingRequest) => Awaitable<Caller>): Awaitable<Caller> {
    if (this.#caller) return this.#caller;
    try {
      this.#caller = read(this);
    } catch (error) {
      this.#caller = Promise.reject(error);
    }
    return this.#caller;
  }
}

/** The value of the first parameter, until the second one of the same request takes it. */
let first: PendingRequest | undefined;

/**
 * Returns one value for the two parameters of a route that read the head. Nest asks for the values of all parameters of a request
 * in one turn of the event loop. To keep the value at the host's request instead takes 6 % of a small query on Express.
 */
function pendingOf(request: HostRequest): PendingRequest {
  const isSecond = first?.request === request;
  const pending = isSecond ? first! : new PendingRequest(request);
  first = isSecond ? undefined : pending;
  return pending;
}

const OfRequest = createParamDecorator((_: unknown, context: ExecutionContext) =>
  pendingOf(context.switchToHttp().getRequest<HostRequest>()),
);

/** For a route with one such parameter. */
const OfAnyRequest = createParamDecorator(
  (_: unknown, context: ExecutionContext) =>
    new PendingRequest(context.switchToHttp().getRequest<HostRequest>()),
);

/** Who asks, and what the head of the request says. */
export interface Caller extends QueryOptions {
  owner: string;
  path: string;
  /** Where the caller resumes a run that it has followed before; undefined for a new query. */
  cursor: Cursor | undefined;
}

/** Finds the owner of a request, as the option `owner` says. Only a promise of the host is waited for. */
@Injectable()
export class OwnerPipe implements PipeTransform<PendingRequest, Awaitable<string>> {
  constructor(
    private readonly settings: Settings,
    private readonly observers: Observers,
  ) {}

  transform({ request }: PendingRequest): Awaitable<string> {
    const owner = this.settings.owner(request as never);
    return isThenable(owner)
      ? Promise.resolve(owner).then((found) => this.#known(request, found))
      : this.#known(request, owner);
  }

  #known(request: HostRequest, found: string | null | undefined): string {
    const owner = found ?? ANONYMOUS;
    this.observers.ownerIs(request, owner);
    return owner;
  }
}

/** Reads the head of a `POST`, once for each request. The body of a caller without access is not read. */
@Injectable()
export class CallerPipe implements PipeTransform<PendingRequest, Awaitable<Caller>> {
  constructor(private readonly owners: OwnerPipe) {}

  /** @throws {QueryError} the headers are not valid */
  transform(pending: PendingRequest): Awaitable<Caller> {
    return pending.callerBy((request) => this.#read(request));
  }

  #read(pending: PendingRequest): Awaitable<Caller> {
    const owner = this.owners.transform(pending);
    return isThenable(owner)
      ? Promise.resolve(owner).then((known) => callerOf(pending.request, known))
      : callerOf(pending.request, owner);
  }
}

function callerOf(request: HostRequest, owner: string): Caller {
  const cursor = cursorOf(request);
  const path = requestPath(request);
  if (cursor) return { owner, cursor, path, request: request as never };
  const idempotencyKey = idempotencyKeyOf(request);
  const detached = prefersAsync(header(request, 'prefer'));
  return { owner, cursor, path, idempotencyKey, detached, request: request as never };
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
    const found = this.caller.transform(pending);
    const caller = isThenable(found) ? await found : found;
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
export const Owner = () => OfAnyRequest(OwnerPipe);
