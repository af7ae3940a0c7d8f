import { TLS_FILE } from '../../support/faulty-proxy.js';
import {
  type ForwardProxy,
  startForwardSquid,
  startHitch,
  startPen,
  startPrivoxy,
  startStunnel,
  startTinyproxy,
} from '../../support/plain-proxies.js';
import { versionOf } from '../../support/proxy-process.js';
import {
  type ProxyProgram,
  type RealProxy,
  startApache,
  startCaddy,
  startH2o,
  startHaproxy,
  startLighttpd,
  startNghttpx,
  startNginx,
  startSquid,
  startTrafficServer,
  startVarnish,
} from '../../support/real-proxies.js';

type Start = (service: string, settings: readonly string[]) => Promise<RealProxy | ForwardProxy>;

/** A row of a table in docs/proxies.md. */
export interface Program {
  name: string;
  /** What `--only` takes. */
  key: string;
  /** The lines that are set. Without them, a program has the settings of its package, and the fewest that pass requests on. */
  settings: readonly string[];
  /** The line or section that they belong to, if that is not clear. */
  within?: string;
  /** Throws if the program is not on this machine. */
  version: () => string;
}

/** A proxy that is measured. */
export interface Proxy extends Program {
  start: Start;
  /** How HTTP/2 is tried: at the same port, or at another one with TLS; by default not. */
  http2?: 'without TLS' | Start;
}

/** The time-outs of the file that the package of Debian installs. */
const HAPROXY_OF_DEBIAN = ['timeout client 50s', 'timeout server 50s'];

const inLines = (lines: readonly string[]) => lines.join('\n  ');

/** All proxies, in the order of the table. */
export const PROXIES: readonly Proxy[] = [
  {
    ...named('nginx', 'nginx'),
    settings: [
      'proxy_http_version 1.1;',
      'proxy_set_header Connection "";',
      'client_max_body_size 768m;',
      'proxy_request_buffering off;',
    ],
    start: (service, settings) => startNginx(service, settings.join(' ')),
    http2: (service, settings) => startNginx(service, settings.join(' '), TLS_FILE),
  },
  {
    ...named('Apache', 'apache'),
    start: (service) => startApache(service),
    http2: (service) => startApache(service, '', TLS_FILE),
  },
  {
    ...named('HAProxy', 'haproxy'),
    settings: ['option http-no-delay', 'option abortonclose', 'timeout client 60s', 'timeout server 60s'],
    start: (service, settings) => startHaproxy(service, inLines([...HAPROXY_OF_DEBIAN, ...settings])),
    http2: (service, settings) =>
      startHaproxy(service, inLines([...HAPROXY_OF_DEBIAN, ...settings]), TLS_FILE),
  },
  {
    ...named('Caddy', 'caddy'),
    start: (service) => startCaddy((address) => caddyfile(address, service)),
    http2: async (service) => {
      const site = (address: string) => caddyfile(address, service, `tls ${TLS_FILE} ${TLS_FILE}`);
      const proxy = await startCaddy((address) => site(address.replace('http:', 'https:')));
      return { ...proxy, url: proxy.url.replace('http:', 'https:') };
    },
  },
  {
    ...named('lighttpd', 'lighttpd'),
    settings: ['server.stream-response-body = 1', 'server.stream-request-body = 1'],
    start: (service, settings) => startLighttpd(service, settings.join('\n')),
    http2: 'without TLS',
  },
  {
    ...named('Varnish', 'varnish'),
    settings: ['sub vcl_recv { return (pipe); }'],
    start: (service, settings) => startVarnish(service, settings.join('\n')),
  },
  {
    ...named('Squid', 'squid'),
    settings: ['login=PASSTHRU'],
    within: 'cache_peer',
    start: (service, settings) => startSquid(service, settings.join(' ')),
  },
  {
    ...named('h2o', 'h2o'),
    settings: ['proxy.timeout.io: 60000'],
    start: (service, settings) => startH2o(service, settings.join('\n')),
    http2: (service, settings) => startH2o(service, settings.join('\n'), TLS_FILE),
  },
  {
    ...named('nghttpx', 'nghttpx'),
    start: (service) => startNghttpx(service),
    http2: (service) => startNghttpx(service, '', TLS_FILE),
  },
  {
    ...named('Traffic Server', 'trafficserver'),
    settings: ['in', 'out'].map(
      (way) => `CONFIG proxy.config.http.transaction_no_activity_timeout_${way} INT 60`,
    ),
    start: (service, settings) => startTrafficServer(service, settings.join('\n')),
  },
  { ...named('hitch (TLS)', 'hitch'), start: (service) => startHitch(service, TLS_FILE) },
  { ...named('stunnel (TLS)', 'stunnel'), start: (service) => startStunnel(service, TLS_FILE) },
  { ...named('pen (TCP)', 'pen'), start: (service) => startPen(service) },
  { ...named('tinyproxy (forward)', 'tinyproxy'), start: (service) => startTinyproxy(service) },
  {
    ...named('Squid (forward)', 'squid'),
    key: 'forward-squid',
    start: (service) => startForwardSquid(service),
  },
  { ...named('Privoxy (forward)', 'privoxy'), start: (service) => startPrivoxy(service) },
];

function named(name: string, program: ProxyProgram) {
  return { name, key: program, settings: [] as readonly string[], version: () => versionOf(program) };
}

function caddyfile(address: string, service: string, tls = ''): string {
  return `{\n\tadmin off\n}\n${address} {\n\t${tls}\n\treverse_proxy ${new URL(service).host}\n}`;
}
