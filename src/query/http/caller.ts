import { createParamDecorator, type ExecutionContext, Injectable, type PipeTransform } from '@nestjs/common';
import { Settings } from '../options/settings.js';
import { type Awaitable, isThenable } from '../ports/file-store.js';
import { header, type HostRequest, requestPath } from '../platform/host.js';
import { ANONYMOUS, type QueryOptions } from '../runs/agent.service.js';
import { Observers } from '../runs/observers.js';
import { afterTurnOf, type Cursor, cursorOf, idempotencyKeyOf, prefersAsync } from './headers.js';

/** The request of route parameters. In a function, so that a global pipe of the host finds nothing to change. */
export type PendingRequest = () => { readonly request: HostRequest; caller?: Awaitable<Caller> };

function pendingOf(request: HostRequest): PendingRequest {
  const pending = { request };
  return () => pending;
}

/** For a route with one such parameter. */
export const OfRequest = createParamDecorator((_: unknown, context: ExecutionContext) =>
  pendingOf(context.switchToHttp().getRequest<HostRequest>()),
);

/** The value of the first parameter, until the second one of the same request takes it. */
let first: PendingRequest | undefined;

/**
 * For a route with two such parameters, which have one value. Nest asks for the values of all parameters of a request in one turn
 * of the event loop. To keep the value at the host's request or in a WeakMap takes 6 % of a small query on Express.
 */
export const OfBothParameters = createParamDecorator((_: unknown, context: ExecutionContext) => {
  const request = context.switchToHttp().getRequest<HostRequest>();
  const isSecond = first?.().request === request;
  const pending = isSecond ? first! : pendingOf(request);
  first = isSecond ? undefined : pending;
  return pending;
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
    const { request } = pending();
    const known = (found: string | null | undefined) => {
      const owner = found ?? ANONYMOUS;
      this.observers.ownerIs(request, owner);
      return owner;
    };
    const owner = this.settings.owner(request);
    return isThenable(owner) ? Promise.resolve(owner).then(known) : known(owner);
  }
}

/** Reads the head of a `POST`, or throws `invalid_query`. Both parameters ask for it: it is read once, also where that throws. */
@Injectable()
export class CallerPipe implements PipeTransform<PendingRequest, Awaitable<Caller>> {
  constructor(private readonly owners: OwnerPipe) {}

  transform(given: PendingRequest): Awaitable<Caller> {
    const pending = given();
    try {
      pending.caller ??= this.#read(given);
    } catch (error) {
      pending.caller = Promise.reject(error);
    }
    return pending.caller;
  }

  #read(pending: PendingRequest): Awaitable<Caller> {
    const { request } = pending();
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

/** A parameter of a route: who asks, and what the head of the request says. */
export const FromCaller = () => OfBothParameters(CallerPipe);
/** A parameter of a route: the owner of the runs that the caller may see. */
export const Owner = () => OfRequest(OwnerPipe);
