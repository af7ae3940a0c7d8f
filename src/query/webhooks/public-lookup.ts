import { lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The address of an endpoint is not public. */
export class PrivateAddress extends Error {}

/** Whether everybody means the same machine by an address: it is not private, loopback, link-local or reserved (RFC 6890). */
export function isPublic(address: string): boolean {
  // An IPv4 address in an IPv6 one is judged as what it is.
  return ipaddr.process(address).range() === 'unicast';
}

/**
 * Refuses a host that is an address of its own: `lookup` is not asked for it.
 *
 * @param host as in a URL, IPv6 in brackets
 * @throws {PrivateAddress}
 */
export function refusePrivate(host: string): void {
  const address = host.replace(/^\[(.*)\]$/, '$1');
  if (isIP(address) !== 0 && !isPublic(address)) throw new PrivateAddress();
}

/**
 * Resolves a name, for one connection: that goes to no other address. If one of the addresses is not public, all are refused with
 * `PrivateAddress`, so that a name cannot lead to them now and then.
 */
export const publicLookup: LookupFunction = (host, options, callback) => {
  lookup(host, { ...options, all: true }, (error, addresses) => {
    const [first] = addresses ?? [];
    if (error || !first) return callback(error ?? new Error('The name has no address.'), '');
    if (!addresses.every(({ address }) => isPublic(address))) return callback(new PrivateAddress(), '');
    if (options.all) callback(null, addresses);
    else callback(null, first.address, first.family);
  });
};
