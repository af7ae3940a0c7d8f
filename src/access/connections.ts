import type http from 'node:http';
import { BlockList, isIPv4, isIPv6, type Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import { defaultsOf, OPTIONS, withDefaults } from '../query/index.js';

/** Limits of the connections of a server. */
export interface ConnectionLimits {
  /** Open connections of one address, from 1. An IPv6 address stands for its network of 64 bits. Default 10,000. */
  perAddress: number;
  /** How long the head of a request may take, in milliseconds, from 1. Default 10,000. */
  headMs: number;
  /** How long a whole request may take until its last byte has arrived, in milliseconds, from 1. Default 3,600,000. */
  requestMs: number;
  /**
   * The proxies in front of the server, whose connections are not counted: addresses, networks such as `10.0.0.0/8`, or
   * `loopback`, `linklocal`, `uniquelocal`. Default: none.
   */
  proxies: readonly string[];
}

/**
 * The defaults of `limitConnections`.
 *
 * @example
 * limitConnections(server, { headMs: 2 * CONNECTION_DEFAULTS.headMs });
 */
export const CONNECTION_DEFAULTS: Readonly<ConnectionLimits> = Object.freeze({
  ...defaultsOf(OPTIONS.connections),
  proxies: [],
});

/** How often Node looks for requests that take too long, in milliseconds. Its default is 30,000. */
const CHECKING_MS = 1_000;

/** Node stores the response that it is writing to a connection in this member. */
type HttpSocket = Socket & { _httpMessage?: object | null };

/**
 * Keeps a server usable while somebody opens many connections, or sends nothing over them. Call it before the server listens.
 *
 * A request whose head or body takes too long gets 408, and its connection is closed. When an address has too many connections,
 * the oldest one without a request is closed for the new one; if all of them have requests, the new one is closed.
 *
 * @param server the server of the application, `app.getHttpServer()`
 * @param limits members that are absent or undefined have the values of `CONNECTION_DEFAULTS`
 * @throws {TypeError} a limit is unknown or out of its range, or a proxy is no address and no network
 *
 * @example
 * const app = await NestFactory.create(AppModule);
 * limitConnections(app.getHttpServer(), { perAddress: 200, proxies: ['10.0.0.0/8'] });
 * await app.listen(3000);
 */
export function limitConnections(
  server: http.Server,
  limits: { [K in keyof ConnectionLimits]?: ConnectionLimits[K] | undefined } = {},
): void {
  const faults: string[] = [];
  const settings = withDefaults('limitConnections', limits, CONNECTION_DEFAULTS, OPTIONS.connections, faults);
  if (faults.length > 0) throw new TypeError(faults.join('\n'));
  const { perAddress, headMs, requestMs, proxies } = settings;
  const trusted = networksOf(proxies);
  const open = new Map<string, Set<HttpSocket>>();
  server.headersTimeout = headMs;
  server.requestTimeout = Math.max(headMs, requestMs);
  Object.assign(server, { connectionsCheckingInterval: CHECKING_MS });
  server.on('connection', (socket: HttpSocket) => {
    const address = socket.remoteAddress;
    // A socket of Unix has no address.
    if (address === undefined) return;
    if (trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')) return;
    const network = networkOf(address);
    const sockets = open.get(network) ?? new Set();
    open.set(network, sockets.add(socket));
    socket.once('close', () => {
      sockets.delete(socket);
      if (sockets.size === 0) open.delete(network);
    });
    if (sockets.size > perAddress) oldestUnused(sockets).destroy();
  });
}

/** The oldest connection without a request; if all others have one, the newest connection. */
function oldestUnused(sockets: Set<HttpSocket>): HttpSocket {
  let newest: HttpSocket | undefined;
  for (const socket of sockets) {
    newest = socket;
    if (!socket._httpMessage && !socket.destroyed) return socket;
  }
  return newest!;
}

/** The networks that an address of a list of proxies may name, as `proxy-addr` and Express name them. */
const NAMED_NETWORKS = new Map([
  ['loopback', ['127.0.0.0/8', '::1/128']],
  ['linklocal', ['169.254.0.0/16', 'fe80::/10']],
  ['uniquelocal', ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']],
]);

function networksOf(proxies: readonly string[]): BlockList {
  const networks = new BlockList();
  for (const proxy of proxies.flatMap((name) => NAMED_NETWORKS.get(name) ?? [name])) {
    const [address = '', bits] = proxy.split('/');
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    try {
      networks.addSubnet(address, bits === undefined ? (family === 'ipv4' ? 32 : 128) : Number(bits), family);
    } catch (cause) {
      const what = 'it must be an address, a network such as 10.0.0.0/8, or "loopback"';
      throw new TypeError(`limitConnections: the proxy ${JSON.stringify(proxy)} is not valid; ${what}.`, {
        cause,
      });
    }
  }
  return networks;
}

/** One customer usually has all addresses of an IPv6 network of 64 bits. */
function networkOf(address: string): string {
  const parsed = ipaddr.process(address);
  return 'parts' in parsed ? parsed.parts.slice(0, 4).join(':') : parsed.toString();
}
