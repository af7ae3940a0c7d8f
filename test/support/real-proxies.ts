import { type RealProxy, schemeOf, startProxy } from './proxy-process.js';

export * from './further-proxies.js';

export {
  hasProxy,
  pathOf,
  type ProxyProgram,
  type RealProxy,
  startProxy,
  withProxy,
} from './proxy-process.js';

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
export function startNginx(
  service: string,
  location: string,
  tls?: string,
  upstreams = '',
): Promise<RealProxy> {
  return startProxy(
    'nginx',
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
    { scheme: schemeOf(tls) },
  );
}

/**
 * Starts HAProxy before a service.
 *
 * @param rules lines of the section that listens and passes on
 * @param tls the file of a key and a certificate, for https
 */
export function startHaproxy(service: string, rules: string, tls?: string): Promise<RealProxy> {
  return startProxy(
    'haproxy',
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
    { scheme: schemeOf(tls) },
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
  return startProxy('caddy', (port) => file(`http://127.0.0.1:${port}`), { environment });
}
