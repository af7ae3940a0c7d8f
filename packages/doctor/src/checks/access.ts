import { BlockList, isIP } from 'node:net';
import type { Caller } from '../caller.js';
import type { Exchange } from '../exchange.js';
import { type Finding, ok, problem, unknown, warning } from '../finding.js';
import { isInvalidCredential, whatCame } from '../problem-body.js';

const LIMIT_MS = 15_000;

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** Checks who may send queries, and in which headers a credential arrives. */
export async function checkAccess(caller: Caller): Promise<Finding[]> {
  const { headers, origin } = caller.target;
  const anonymous = await listOfRuns(caller, {});
  const isOpen = anonymous.head?.status === 200;
  return [accessOf(anonymous, isOpen, isLoopback(origin.hostname)), await credentials()];

  async function credentials(): Promise<Finding> {
    const key = headers['authorization']?.replace(/^bearer +/i, '');
    if (key === undefined)
      return unknown('credentials', 'there is no credential to send: give one with --key');
    if (isOpen) return unknown('credentials', 'the service does not ask for them');
    return credentialsOf(await listOfRuns(caller, { 'x-api-key': key }));
  }
}

/** The list of runs starts nothing. */
function listOfRuns(caller: Caller, credential: Record<string, string>): Promise<Exchange> {
  const path = `${caller.target.path}?limit=1`;
  const headers = { accept: 'application/json' };
  return caller.exchange({ method: 'GET', path, headers, limitMs: LIMIT_MS }, credential);
}

function accessOf(response: Exchange, isOpen: boolean, isOfThisMachine: boolean): Finding {
  const status = response.head?.status;
  if (status === 401 || status === 403) return ok('access', `needs a credential (${status} without one)`);
  if (!isOpen) return unknown('access', `a request without a credential: ${whatCame(response)}`);
  if (isOfThisMachine) return ok('access', 'needs no credential, at an address of this machine');
  const measured = 'needs no credential: whoever reaches this address may send queries';
  return warning('access', measured, 'access');
}

function credentialsOf(response: Exchange): Finding {
  const status = response.head?.status;
  if (status === 200) return ok('credentials', 'arrive as Authorization: Bearer, and as X-API-Key');
  if (status !== 401) return unknown('credentials', `a request with X-API-Key: ${whatCame(response)}`);
  // A token is no API key, but the service has seen it.
  if (isInvalidCredential(response)) return ok('credentials', 'arrive as Authorization: Bearer');
  const measured = 'arrive as Authorization: Bearer, but a proxy removes the header X-API-Key';
  return problem('credentials', measured, 'request-header', 'X-API-Key');
}

function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  const version = isIP(host);
  if (version !== 0) return LOOPBACK.check(host, version === 4 ? 'ipv4' : 'ipv6');
  return /^(?:.+\.)?localhost\.?$/.test(host);
}
