import { createParamDecorator, type ExecutionContext, Injectable, type PipeTransform } from '@nestjs/common';
import { Settings } from '../options/query.options.js';
import { type Awaitable, isThenable } from '../ports/file-store.js';
import { header, type HostRequest, requestPath } from '../platform/host.js';
import { ANONYMOUS, type QueryOptions } from '../runs/agent.service.js';
import { Observers } from '../runs/observers.js';
import { type Cursor, cursorOf, idempotencyKeyOf, prefersAsync } from './headers.js';

/** The request of a parameter. In a function, so that a global pipe of the host finds nothing to change. */
export type PendingRequest = () => HostRequest;

export const OfRequest = createParamDecorator((_: unknown, context: ExecutionContext): PendingRequest => {
  const request = context.switchToHttp().getRequest<HostRequest>();
  return () => request;
});

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

  transform(pending: PendingRequest): Awaitable<string> {
    const request = pending();
    const known = (found: string | null | undefined) => {
      const owner = found ?? ANONYMOUS;
      this.observers.ownerIs(request, owner);
      return owner;
    };
    const owner = this.settings.owner(request as never);
    return isThenable(owner) ? Promise.resolve(owner).then(known) : known(owner);
  }
}

/**
 * Two parameters of a route read the head: the option `owner` is asked once for both, also where it throws. Not a member of the
 * pipe, because Nest makes an instance of a pipe for the route, and another one for the providers that need it.
 */
const callers = new WeakMap<HostRequest, Awaitable<Caller>>();

/** Reads the head of a `POST`. */
@Injectable()
export class CallerPipe implements PipeTransform<PendingRequest, Awaitable<Caller>> {
  constructor(private readonly owners: OwnerPipe) {}

  /** @throws {QueryError} the headers are not valid */
  transform(pending: PendingRequest): Awaitable<Caller> {
    const request = pending();
    let caller = callers.get(request);
    if (caller) return caller;
    try {
      const owner = this.owners.transform(pending);
      caller = isThenable(owner) ? owner.then((known) => callerOf(request, known)) : callerOf(request, owner);
    } catch (error) {
      caller = Promise.reject(error);
    }
    callers.set(request, caller);
    return caller;
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

/** A parameter of a route: who asks, and what the head of the request says. */
export const FromCaller = () => OfRequest(CallerPipe);
/** A parameter of a route: the owner of the runs that the caller may see. */
export const Owner = () => OfRequest(OwnerPipe);
