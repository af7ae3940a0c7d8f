import { createParamDecorator, type ExecutionContext, Injectable, type PipeTransform } from '@nestjs/common';
import { Settings } from '../options/settings.js';
import { type Awaitable, isThenable } from '../ports/file-store.js';
import { header, type HostRequest, requestPath } from '../platform/host.js';
import { ANONYMOUS, type QueryOptions } from '../runs/agent.service.js';
import { Observers } from '../runs/observers.js';
import { afterTurnOf, type Cursor, cursorOf, idempotencyKeyOf, prefersAsync } from './headers.js';

/** The request of a route parameter. In a function, so that a global pipe of the host finds nothing to change. */
export type PendingRequest = () => HostRequest;

/** For a parameter of a route that a pipe makes of the request. */
export const OfRequest = createParamDecorator((_: unknown, context: ExecutionContext): PendingRequest => {
  const request = context.switchToHttp().getRequest<HostRequest>();
  return () => request;
});

/** Who sends a request, and what its head says. */
export interface Caller extends QueryOptions {
  owner: string;
  path: string;
  request: HostRequest;
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
    const owner = this.settings.owner(request);
    return isThenable(owner) ? Promise.resolve(owner).then(known) : known(owner);
  }
}

/** What a `POST` brings, and from whom. */
export interface Received<T> {
  readonly body: T;
  readonly caller: Caller;
}

/** Finds who sends a `POST`, and reads its head. */
@Injectable()
export class Callers {
  constructor(private readonly owners: OwnerPipe) {}

  /** @throws {QueryError} `invalid_query`, or what the option `owner` throws */
  of(pending: PendingRequest): Awaitable<Caller> {
    const request = pending();
    const owner = this.owners.transform(pending);
    return isThenable(owner) ? owner.then((known) => callerOf(request, known)) : callerOf(request, owner);
  }
}

function callerOf(request: HostRequest, owner: string): Caller {
  const cursor = cursorOf(request);
  const path = requestPath(request);
  if (cursor) return { owner, cursor, path, request };
  const idempotencyKey = idempotencyKeyOf(request);
  const afterTurn = afterTurnOf(request);
  const detached = prefersAsync(header(request, 'prefer'));
  return { owner, cursor, path, idempotencyKey, afterTurn, detached, request };
}

/** A parameter of a route: the owner of the runs that the caller may see. */
export const Owner = () => OfRequest(OwnerPipe);
