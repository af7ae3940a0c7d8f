import type { Head } from './exchange.js';

/**
 * The proxies whose settings the doctor knows.
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
} as const;

/** A proxy whose settings the doctor knows. */
export type ProxyName = keyof typeof PROXIES;

/** A proxy that has shown itself. */
export interface SeenProxy {
  name: ProxyName;
  /** The header that shows it, such as `Server: nginx/1.22.1`. */
  header: string;
}

/** What each proxy writes into answers. HAProxy and a load balancer of AWS write nothing into those that they pass on. */
const SIGNS: readonly (readonly [ProxyName, header: string, value: RegExp])[] = [
  ['cloudflare', 'CF-Ray', /./],
  ['cloudflare', 'Server', /^cloudflare/i],
  ['envoy', 'X-Envoy-Upstream-Service-Time', /./],
  ['envoy', 'Server', /envoy/i],
  ['nginx', 'Server', /^(?:nginx|openresty)/i],
  ['caddy', 'Server', /^caddy/i],
  ['caddy', 'Via', /caddy/i],
  ['alb', 'Server', /^awselb/i],
  ['alb', 'Set-Cookie', /^AWSALB/],
];

/** The proxies that the heads of answers show, each once. */
export function proxiesOf(heads: readonly Head[]): SeenProxy[] {
  const seen = new Map<ProxyName, SeenProxy>();
  for (const { headers } of heads) {
    for (const [name, header, value] of SIGNS) {
      const given = [headers[header.toLowerCase()] ?? []].flat().find((each) => value.test(each));
      if (given !== undefined && !seen.has(name))
        seen.set(name, { name, header: header === 'Set-Cookie' ? header : `${header}: ${given}` });
    }
  }
  return [...seen.values()];
}
