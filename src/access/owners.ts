import type { IncomingMessage } from 'node:http';
import { type HostRequest, rawRequest } from '../query/index.js';

/** Who sent each request that `AccessGuard` has let pass; undefined for a public route. */
const owners = new WeakMap<IncomingMessage, string | undefined>();

/** Whether `AccessGuard` has let the request pass. */
export function isChecked(request: HostRequest): boolean {
  return owners.has(rawRequest(request));
}

/** Notes whose request it is. */
export function letPass(request: HostRequest, owner: string | undefined): void {
  owners.set(rawRequest(request), owner);
}

/**
 * Returns the owner of a request that `AccessGuard` has let pass, for the option `owner` of `QueryModule`:
 *
 * | credential | owner |
 * |---|---|
 * | an API key | `key:<name>` |
 * | a JWT | `jwt:` and a JSON array of issuer and subject: `jwt:["https://idp.example","ann"]`, or `jwt:[null,"ann"]` without an issuer |
 *
 * No two credentials of different keys, issuers or subjects have the same owner.
 *
 * @param request the request of the host's adapter
 * @returns undefined for a route that is public
 * @throws {Error} no `AccessGuard` has seen the request: without it, all callers would share their runs
 *
 * @example
 * QueryModule.forRoot({ handler: MyHandler, decorators: [UseGuards(AccessGuard)], owner: ownerOf })
 */
export function ownerOf(request: object): string | undefined {
  if (isChecked(request as HostRequest)) return owners.get(rawRequest(request as HostRequest));
  throw new Error('ownerOf needs AccessGuard on the same route: decorators: [UseGuards(AccessGuard)].');
}
