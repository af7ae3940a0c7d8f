import type { Head } from './exchange.js';
import { elementsOf, type Sign, SIGNS } from './signs.js';
import { oneLine } from './one-line.js';

/**
 * The proxies that the doctor knows, with their titles. `unknown` is each that it does not know.
 *
 * @example
 * const names = report.proxies.map(({ name }) => PROXIES[name]); // ['nginx']
 */
export const PROXIES = {
  nginx: 'nginx',
  caddy: 'Caddy',
  haproxy: 'HAProxy',
  envoy: 'Envoy',
  alb: 'AWS ALB',
  cloudflare: 'Cloudflare',
  apache: 'Apache',
  lighttpd: 'lighttpd',
  varnish: 'Varnish',
  squid: 'Squid',
  h2o: 'h2o',
  nghttpx: 'nghttpx',
  trafficserver: 'Traffic Server',
  tinyproxy: 'tinyproxy',
  kong: 'Kong',
  iis: 'IIS',
  fastly: 'Fastly',
  cloudfront: 'CloudFront',
  google: 'Google Front End',
  frontdoor: 'Azure Front Door',
  akamai: 'Akamai',
  unknown: 'unknown proxy',
} as const;

/** A proxy that the doctor knows, or `unknown`. */
export type ProxyName = keyof typeof PROXIES;

/** A proxy that has shown itself. */
export interface SeenProxy {
  name: ProxyName;
  /** The header that shows it, such as `Server: nginx/1.22.1`: at most 100 characters, without control characters. */
  header: string;
}

const KNOWN: readonly Sign<ProxyName>[] = SIGNS;

/** A hostile server could name thousands. */
const MOST_UNKNOWN = 10;

const MOST_CHARACTERS = 100;

/**
 * The proxies that the heads of answers show. One that the doctor knows is there once, and any other once for each value of
 * `Server` and `Via`, up to 10.
 */
export function proxiesOf(heads: readonly Head[]): SeenProxy[] {
  const seen = new Map<string, SeenProxy>();
  for (const { headers } of heads) {
    for (const { name, header } of signsIn(headers)) {
      const key = name === 'unknown' ? header : name;
      if (!seen.has(key)) seen.set(key, { name, header });
    }
  }
  const all = [...seen.values()];
  const unknown = all.filter(({ name }) => name === 'unknown').slice(0, MOST_UNKNOWN);
  return all.filter((each) => each.name !== 'unknown' || unknown.includes(each));
}

/** What a head shows, in the order of `SIGNS`; then the values of `Server` and `Via` that are no sign. */
function* signsIn(headers: Head['headers']): Generator<SeenProxy> {
  const named = ['Server', 'Via'].flatMap((header) =>
    elementsOf(headers[header.toLowerCase()]).map((value) => ({ header, value, isKnown: false })),
  );
  for (const [name, header, pattern, other] of KNOWN) {
    if (other && !other.pattern.test(String(headers[other.header] ?? ''))) continue;
    const elements = named.filter((each) => each.header === header);
    if (elements.length === 0) {
      const value = [headers[header.toLowerCase()] ?? []].flat().find((each) => pattern.test(each));
      if (value !== undefined) yield { name, header: shown(header, value) };
    }
    for (const element of elements) {
      if (element.isKnown || !pattern.test(element.value)) continue;
      element.isKnown = true;
      yield { name, header: shown(header, element.value) };
    }
  }
  for (const { header, value, isKnown } of named)
    if (!isKnown) yield { name: 'unknown', header: shown(header, value) };
}

/** A cookie is a secret: only its name is shown. */
function shown(header: string, value: string): string {
  return header === 'Set-Cookie' ? header : oneLine(`${header}: ${value}`, MOST_CHARACTERS);
}
