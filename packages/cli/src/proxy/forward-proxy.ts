import { Buffer } from 'node:buffer';
import http from 'node:http';
import https from 'node:https';
import { BlockList, isIP, type Socket } from 'node:net';
import tls from 'node:tls';
import { ProxyFailure, UsageError } from '../failures.js';

/** How long a proxy may take to connect. */
const CONNECT_MS = 30_000;

/** Errors of a connection to the proxy itself. */
const OF_CONNECTING = ['connect', 'getaddrinfo'];

/** What a proxy wants that answers 407. */
export const WANTS_NAME = 'It wants a name and a password, as in http://name:password@host:port.';

const IS_IT_A_PROXY = 'It must run, and be a proxy for HTTP.';

/** A proxy that this machine asks to reach others, as a variable names it. */
export class ForwardProxy {
  /** For people: the variable and the address, without a password. */
  readonly name: string;

  constructor(
    variable: string,
    readonly url: URL,
  ) {
    this.name = `the proxy of ${variable}, ${url.origin}`;
  }

  /** What tells the proxy who asks. */
  get credential(): string | undefined {
    const { username, password } = this.url;
    if (username === '' && password === '') return undefined;
    const text = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    return `Basic ${Buffer.from(text).toString('base64')}`;
  }

  /**
   * What `http.request` needs where the request itself is sent to the proxy. Undefined where the proxy only connects: to ask for
   * `http:` in this way needs no permission for the port, which proxies often give for 443 only.
   */
  relayed(target: URL): http.RequestOptions | undefined {
    const { protocol, port } = this.url;
    if (target.protocol !== 'http:' || protocol !== 'http:') return undefined;
    return { ...this.#address, port: port || 80, path: target.href, headers: this.#headers(target.host) };
  }

  /**
   * Connects to the address of a service through the proxy (RFC 9110 §9.3.6), with TLS if it has `https:`.
   *
   * @param protocols what TLS offers to speak (ALPN)
   * @throws {ProxyFailure} the proxy does not connect · Error TLS fails
   */
  async open({ protocol, hostname, port }: URL, protocols: string[]): Promise<tls.TLSSocket> {
    const isSecure = protocol === 'https:';
    const socket = await this.#connect(`${hostname}:${port || (isSecure ? 443 : 80)}`);
    if (!isSecure) return socket as tls.TLSSocket;
    const host = withoutBrackets(hostname);
    return new Promise((resolve, reject) => {
      // An address is no name (RFC 6066 §3).
      const servername = isIP(host) === 0 && { servername: host };
      const secure = tls.connect({ socket, host, ...servername, ALPNProtocols: protocols });
      secure.once('secureConnect', () => resolve(secure.off('error', reject))).once('error', reject);
    });
  }

  /** What an error of a relayed request means, if it is one of the connection to the proxy. */
  failureOf(error: NodeJS.ErrnoException): ProxyFailure | undefined {
    const first = error instanceof AggregateError ? (error.errors[0] as NodeJS.ErrnoException) : error;
    if (!OF_CONNECTING.includes(first.syscall ?? '')) return undefined;
    return this.failure(`does not answer. ${IS_IT_A_PROXY}`, false, first);
  }

  /** @param what the proxy does @param isFinal whether it does not help to try again */
  failure(what: string, isFinal: boolean, cause?: Error): ProxyFailure {
    return new ProxyFailure(`T${this.name.slice(1)}, ${what}`, isFinal, cause);
  }

  #connect(to: string): Promise<Socket> {
    const isSecure = this.url.protocol === 'https:';
    return new Promise((resolve, reject) => {
      const request = (isSecure ? https : http).request({
        ...this.#address,
        port: this.url.port || (isSecure ? 443 : 80),
        method: 'CONNECT',
        path: to,
        headers: this.#headers(to),
        agent: false,
        timeout: CONNECT_MS,
      });
      request.on('connect', ({ statusCode = 0 }, socket: Socket, head) => {
        socket.setTimeout(0);
        if (head.length > 0) socket.unshift(head);
        if (statusCode >= 200 && statusCode < 300) return resolve(socket);
        socket.destroy();
        reject(this.failure(refusalOf(statusCode, to), ![502, 503, 504].includes(statusCode)));
      });
      request.on('timeout', () => request.destroy(new Error(`No answer came within ${CONNECT_MS} ms.`)));
      request.on('error', (error) =>
        reject(this.failure(`does not connect to ${to}. ${IS_IT_A_PROXY}`, false, error)),
      );
      request.end();
    });
  }

  get #address(): http.RequestOptions {
    const host = withoutBrackets(this.url.hostname);
    return { hostname: host, ...(isIP(host) === 0 && { servername: host }) };
  }

  #headers(host: string): Record<string, string> {
    const { credential } = this;
    return { host, ...(credential !== undefined && { 'proxy-authorization': credential }) };
  }
}

function refusalOf(status: number, to: string): string {
  if (status === 407) return `refuses to connect to ${to} (407). ${WANTS_NAME}`;
  if (status === 403)
    return `refuses to connect to ${to} (403). Ask who runs it, or name the host in NO_PROXY: then it is asked directly.`;
  return `does not connect to ${to} (${status}).${status >= 500 ? '' : ` ${IS_IT_A_PROXY}`}`;
}

/**
 * The proxy for an address: that of `http_proxy`, `https_proxy` or else `all_proxy`, in lower or upper case. None for a loopback
 * address, and for what `no_proxy` names: hosts with all below them, `host:port`, ranges of addresses such as `10.0.0.0/8`, or `*`.
 *
 * @throws {UsageError} the variable names no proxy for HTTP; the message does not repeat a password
 */
export function proxyFor(target: URL, environment = process.env): ForwardProxy | undefined {
  const host = withoutBrackets(target.hostname);
  if (isLoopback(host) || isExcepted(host, target, environment)) return undefined;
  for (const name of [`${target.protocol.slice(0, -1)}_proxy`, 'all_proxy']) {
    for (const variable of [name, name.toUpperCase()]) {
      const value = environment[variable]?.trim();
      if (value) return new ForwardProxy(variable, addressOfProxy(variable, value));
    }
  }
  return undefined;
}

function addressOfProxy(variable: string, value: string): URL {
  const text = value.includes('://') ? value : `http://${value}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol) && url.hostname !== '' && isDecodable(url)) return url;
  const shown = text.replace(/^([a-z0-9+.-]+:\/\/)?.*@/is, '$1…@');
  throw new UsageError(
    `${variable} is ${JSON.stringify(shown)}. It must be the address of a proxy for HTTP, such as ` +
      'http://proxy.example.com:3128. Special characters of its name and password are encoded, such as %40 for @.',
  );
}

function isDecodable({ username, password }: URL): boolean {
  try {
    return decodeURIComponent(username + password) !== undefined;
  } catch {
    return false;
  }
}

function isExcepted(host: string, { port, protocol }: URL, environment: NodeJS.ProcessEnv): boolean {
  const ownPort = port || (protocol === 'https:' ? '443' : '80');
  const entries = (environment['no_proxy'] || environment['NO_PROXY'] || '').toLowerCase().split(/[,\s]+/);
  return entries.filter(Boolean).some((entry) => {
    if (entry === '*') return true;
    if (entry.includes('/')) return isInRange(host, entry);
    const [, name = entry, given] = /^(\[.*\]|[^:]*)(?::(\d+))?$/.exec(entry) ?? [];
    if (given !== undefined && given !== ownPort) return false;
    const plain = withoutBrackets(name).replace(/^\*?\./, '');
    return host === plain || (isIP(host) === 0 && host.endsWith(`.${plain}`));
  });
}

function isInRange(host: string, range: string): boolean {
  const [network = '', bits] = range.split('/');
  const family = isIP(network);
  if (family === 0 || isIP(host) !== family || !/^\d{1,3}$/.test(bits ?? '')) return false;
  if (Number(bits) > (family === 4 ? 32 : 128)) return false;
  const type = family === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(network, Number(bits), type);
  return list.check(host, type);
}

function isLoopback(host: string): boolean {
  return /^(?:.+\.)?localhost$/.test(host) || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

function withoutBrackets(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1');
}
