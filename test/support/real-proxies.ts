import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventuallyElsewhere } from './conditions.js';
import { freePort } from './free-port.mjs';

/** A program that tests find by a variable with its path, or else in `PATH`. */
export type ProxyProgram = 'nginx' | 'haproxy' | 'caddy';

/** A proxy in a process of its own. */
export interface RealProxy {
  url: string;
  stop(): Promise<void>;
}

/** The program: its path in a variable such as `NGINX`, or its name. */
export function pathOf(program: ProxyProgram): string {
  return process.env[program.toUpperCase()] ?? program;
}

/** Whether a proxy is on this machine. */
export function hasProxy(program: ProxyProgram): boolean {
  try {
    execFileSync(pathOf(program), [program === 'caddy' ? 'version' : '-v'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Lets nginx keep its temporary files in its own directory: /var/lib/nginx exists only where nginx is installed. */
export const NGINX_DIRECTORIES = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  .map((name) => `${name}_temp_path ${name};`)
  .join(' ');

/**
 * Starts nginx before a service.
 *
 * @param location what the `location /` has besides `proxy_pass`
 * @param tls the file of a key and a certificate, for https
 * @param upstreams what stands before its `server`
 */
export async function startNginx(
  service: string,
  location: string,
  tls?: string,
  upstreams = '',
): Promise<RealProxy> {
  return start(
    'nginx',
    tls === undefined ? 'http' : 'https',
    (port) => `
    daemon off; master_process off; pid nginx.pid; error_log stderr crit;
    events { worker_connections 256; }
    http {
      access_log off;
      ${NGINX_DIRECTORIES}
      ${upstreams}
      map $upstream_http_content_location $prefixed { ~. /api$upstream_http_content_location; }
      server {
        listen 127.0.0.1:${port} ${tls === undefined ? '' : `ssl http2; ssl_certificate ${tls}; ssl_certificate_key ${tls}`};
        location / { proxy_pass ${service}; ${location} }
        location /api/ { proxy_pass ${service}/; ${location} }
      }
    }`,
  );
}

/**
 * Starts HAProxy before a service.
 *
 * @param rules lines of the section that listens and passes on
 * @param tls the file of a key and a certificate, for https
 */
export function startHaproxy(service: string, rules: string, tls?: string): Promise<RealProxy> {
  return start(
    'haproxy',
    tls === undefined ? 'http' : 'https',
    (port) => `
global
  maxconn 256
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
listen all
  bind 127.0.0.1:${port} ${tls === undefined ? '' : `ssl crt ${tls} alpn h2,http/1.1`}
  ${rules}
  server service ${new URL(service).host}
`,
  );
}

/**
 * Starts Caddy.
 *
 * @param file its Caddyfile, for the address to listen on
 * @param environment what the file reads of the environment
 */
export function startCaddy(
  file: (address: string) => string,
  environment: Record<string, string> = {},
): Promise<RealProxy> {
  return start('caddy', 'http', (port) => file(`http://127.0.0.1:${port}`), environment);
}

const ARGUMENTS: Record<ProxyProgram, (directory: string) => string[]> = {
  nginx: (directory) => ['-p', directory, '-c', 'proxy.conf', '-e', 'stderr'],
  haproxy: (directory) => ['-db', '-f', join(directory, 'proxy.conf')],
  caddy: (directory) => ['run', '--adapter', 'caddyfile', '--config', join(directory, 'proxy.conf')],
};

async function start(
  program: ProxyProgram,
  scheme: string,
  configuration: (port: number) => string,
  environment: Record<string, string> = {},
): Promise<RealProxy> {
  const port = await freePort();
  const directory = await mkdtemp(join(tmpdir(), `${program}-`));
  await writeFile(join(directory, 'proxy.conf'), configuration(port));
  const child = spawn(pathOf(program), ARGUMENTS[program](directory), {
    stdio: ['ignore', 'ignore', 'pipe'],
    // Caddy keeps files in these two.
    env: { ...process.env, XDG_DATA_HOME: directory, XDG_CONFIG_HOME: directory, ...environment },
  });
  let errors = '';
  child.stderr.on('data', (bytes: Buffer) => (errors += bytes.toString()));
  await eventuallyElsewhere(() => {
    if (child.exitCode !== null) throw new Error(`${program} ended:\n${errors}`);
    return accepts(port);
  });
  return { url: `${scheme}://127.0.0.1:${port}`, stop: () => end(child, directory) };
}

async function end(child: ChildProcess, directory: string): Promise<void> {
  child.kill('SIGTERM');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  await rm(directory, { recursive: true });
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
