import { isIP, isIPv4 } from 'node:net';

/** The names of networks that a list of proxies may have besides addresses. */
const NETWORK_NAMES = ['loopback', 'linklocal', 'uniquelocal'];

/** The entries of a list with commas between them, without white space around them. */
export function entriesOf(list: string): string[] {
  return list
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

/** The lines of a text that are not empty, without white space around them. */
export function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** Whether a text is the origin of a page as browsers send it (RFC 6454 §6.2), or `*` for all. */
export function isOriginOrAll(text: string): boolean {
  if (text === '*') return true;
  try {
    const { origin, protocol } = new URL(text);
    return text === origin && (protocol === 'https:' || protocol === 'http:');
  } catch {
    return false;
  }
}

/** Whether a text is a name or an address as it is in `Host`, without a port. */
export function isHostName(text: string): boolean {
  return /^[\w-]+(?:\.[\w-]+)*$|^\[[\da-f:.]+\]$/i.test(text);
}

/** Whether a text is an IP address, a network in CIDR form, or the name of a network. */
export function isAddressOrNetwork(text: string): boolean {
  if (NETWORK_NAMES.includes(text) || isIP(text) !== 0) return true;
  const [, address = '', bits] = /^(.+)\/(\d{1,3})$/.exec(text) ?? [];
  return isIP(address) !== 0 && Number(bits) <= (isIPv4(address) ? 32 : 128);
}

/** Whether only this machine reaches an address on which a server listens. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

/** What is wrong with a list of variables, without a part of it: the values may be keys. */
export function faultOfNames(list: string): string | undefined {
  const faulty = entriesOf(list).findIndex((entry) => !/^[A-Za-z_]\w*(?:=|$)/.test(entry));
  return faulty === -1 ? undefined : `is not valid: its entry ${faulty + 1} must be NAME or NAME=value.`;
}
