import { existsSync, readFileSync } from 'node:fs';
import { squidWith } from './further-proxies.js';
import { PACKAGES, type RealProxy, startProxy } from './proxy-process.js';

/** A proxy that requests are sent to with the whole address of the service. */
export interface ForwardProxy extends RealProxy {
  /** Its own address. `url` is that of the service. */
  through: string;
}

/**
 * Starts hitch, which ends TLS and passes bytes on.
 *
 * @param tls the file of a key and a certificate
 */
export function startHitch(service: string, tls: string): Promise<RealProxy> {
  const { hostname, port: to } = new URL(service);
  return startProxy(
    'hitch',
    (port) => `
frontend = "[127.0.0.1]:${port}"
backend = "[${hostname}]:${to}"
pem-file = "${tls}"
${isRoot() ? 'user = "nobody"\ngroup = "nogroup"' : ''}
`,
    { scheme: 'https' },
  );
}

/** Starts stunnel, which ends TLS and passes bytes on. */
export function startStunnel(service: string, tls: string): Promise<RealProxy> {
  return startProxy(
    'stunnel',
    (port) => `
foreground = yes
pid =
[agent]
accept = 127.0.0.1:${port}
connect = ${new URL(service).host}
cert = ${tls}
key = ${tls}
`,
    { scheme: 'https' },
  );
}

/** Starts pen, which passes the bytes of each connection on to a server. */
export function startPen(service: string): Promise<RealProxy> {
  const { hostname, port } = new URL(service);
  return startProxy('pen', () => `server 0 address ${hostname} port ${port}\n`);
}

/** Starts tinyproxy, a forward proxy, with the settings of Debian. */
export function startTinyproxy(service: string): Promise<ForwardProxy> {
  return startForward(service, 'tinyproxy', (port) =>
    ['Listen 127.0.0.1', `Port ${port}`, 'Timeout 600', 'MaxClients 100', 'Allow 127.0.0.1', ''].join('\n'),
  );
}

/** Starts Squid as a forward proxy. */
export function startForwardSquid(service: string): Promise<ForwardProxy> {
  return startForward(service, 'squid', (port, directory) =>
    squidWith(`http_port 127.0.0.1:${port}\nhttp_access allow all\n`, directory),
  );
}

/** Starts Privoxy, a forward proxy, with the settings of Debian. */
export function startPrivoxy(service: string): Promise<ForwardProxy> {
  return startForward(service, 'privoxy', (port, directory) => {
    const path = [`${PACKAGES}/usr/share/privoxy/config`, '/etc/privoxy/config'].find(existsSync)!;
    return readFileSync(path, 'utf8')
      .replace(/^confdir .*$/m, `confdir ${PACKAGES}/etc/privoxy`)
      .replace(/^logdir .*$/m, `logdir ${directory}`)
      .replace(/^listen-address .*$/gm, '')
      .concat(`\nlisten-address 127.0.0.1:${port}\n`);
  });
}

async function startForward(
  service: string,
  program: Parameters<typeof startProxy>[0],
  configuration: Parameters<typeof startProxy>[1],
): Promise<ForwardProxy> {
  const proxy = await startProxy(program, configuration);
  return { url: service, through: proxy.url, stop: () => proxy.stop() };
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}
