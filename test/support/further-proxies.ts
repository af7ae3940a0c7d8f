import { PACKAGES, type RealProxy, schemeOf, startProxy } from './proxy-process.js';

/** What Apache has around its sites: the modules of a proxy, as `a2enmod` loads them, and the settings of Debian. */
export function apacheWith(sites: string, port: number, directory: string): string {
  const modules = [
    'mpm_event',
    'authz_core',
    'reqtimeout',
    'deflate',
    'filter',
    'headers',
    'setenvif',
    'ssl',
    'http2',
  ];
  const all = [...modules, 'proxy', 'proxy_http'].map(
    (name) => `LoadModule ${name}_module ${PACKAGES}/usr/lib/apache2/modules/mod_${name}.so`,
  );
  return `
ServerRoot ${directory}
ServerName localhost
DefaultRuntimeDir ${directory}
PidFile httpd.pid
Mutex file:${directory}
ErrorLog error.log
${all.join('\n')}
User nobody
Group nogroup
Timeout 300
RequestReadTimeout header=20-40,minrate=500
RequestReadTimeout body=10,minrate=500
Listen 127.0.0.1:${port}
${sites}
`;
}

/**
 * Starts Apache before a service.
 *
 * @param rules lines of the virtual host besides `ProxyPass`
 * @param tls the file of a key and a certificate, for https
 */
export function startApache(service: string, rules = '', tls?: string): Promise<RealProxy> {
  const site = (port: number) => `
<VirtualHost *:${port}>
  ${tls === undefined ? '' : `Protocols h2 http/1.1\nSSLEngine on\nSSLCertificateFile ${tls}`}
  ProxyPass / ${service}/
  ${rules}
</VirtualHost>`;
  return startProxy('apache', (port, directory) => apacheWith(site(port), port, directory), {
    scheme: schemeOf(tls),
  });
}

/** What lighttpd has before a file of its `conf-enabled`. */
export function lighttpdWith(file: string, port: number, directory: string): string {
  return `
server.modules = ("mod_setenv")
server.document-root = "${directory}"
server.upload-dirs = ("${directory}")
server.bind = "127.0.0.1"
server.port = ${port}
${file}
`;
}

/**
 * Starts lighttpd before a service.
 *
 * @param rules lines besides those that pass on
 */
export function startLighttpd(service: string, rules = ''): Promise<RealProxy> {
  const { hostname, port: to } = new URL(service);
  const passing = `server.modules += ("mod_proxy")
proxy.server = ("" => (("host" => "${hostname}", "port" => ${to})))
${rules}`;
  return startProxy('lighttpd', (port, directory) => lighttpdWith(passing, port, directory));
}

/**
 * Starts Varnish before a service.
 *
 * @param rules what stands behind its backend: subroutines of VCL
 */
export function startVarnish(service: string, rules = ''): Promise<RealProxy> {
  const { hostname, port } = new URL(service);
  return startProxy(
    'varnish',
    () => `vcl 4.1;\nbackend default { .host = "${hostname}"; .port = "${port}"; }\n${rules}\n`,
  );
}

/** What Squid has around a configuration, so that it keeps to its own directory. */
export function squidWith(file: string, directory: string): string {
  return `
cache_effective_user nobody
pid_filename none
cache_log /dev/null
access_log none
logfile_rotate 0
netdb_filename none
pinger_enable off
unlinkd_program /bin/true
mime_table ${directory}/mime.conf
icon_directory ${directory}
error_directory ${directory}
coredump_dir none
shutdown_lifetime 0 seconds
${file}
`;
}

/**
 * Starts Squid before a service, as accelerator.
 *
 * @param peer options of its `cache_peer`
 * @param rules lines besides those that pass on
 */
export function startSquid(service: string, peer = '', rules = ''): Promise<RealProxy> {
  const { hostname, port: to } = new URL(service);
  const passing = (port: number) => `
http_port 127.0.0.1:${port} accel defaultsite=agent.example.com
cache_peer ${hostname} parent ${to} 0 no-query originserver ${peer}
http_access allow all
${rules}`;
  return startProxy('squid', (port, directory) => squidWith(passing(port), directory));
}

/**
 * Starts h2o before a service.
 *
 * @param rules lines of its file, for all of its hosts
 */
export function startH2o(service: string, rules = '', tls?: string): Promise<RealProxy> {
  const ssl = tls === undefined ? '' : `{ certificate-file: ${tls}, key-file: ${tls} }`;
  return startProxy(
    'h2o',
    (port) => `
listen: { host: 127.0.0.1, port: ${port}${ssl && `, ssl: ${ssl}`} }
${rules}
hosts:
  default:
    paths:
      "/":
        proxy.reverse.url: "${service}/"
`,
    { scheme: schemeOf(tls) },
  );
}

/**
 * Starts nghttpx before a service.
 *
 * @param rules lines of its file
 */
export function startNghttpx(service: string, rules = '', tls?: string): Promise<RealProxy> {
  const { hostname, port: to } = new URL(service);
  return startProxy(
    'nghttpx',
    (port) => `
frontend=127.0.0.1,${port}${tls === undefined ? ';no-tls' : ''}
${tls === undefined ? '' : `private-key-file=${tls}\ncertificate-file=${tls}`}
backend=${hostname},${to}
${rules}
`,
    { scheme: schemeOf(tls) },
  );
}

/**
 * Starts Traffic Server before a service, with the files of its package.
 *
 * @param records lines of its `records.config`
 * @param access its `ip_allow.yaml`; by default that of its package
 */
export function startTrafficServer(service: string, records = '', access?: string): Promise<RealProxy> {
  const here = (directory: string) =>
    [
      'prefix',
      'exec_prefix',
      'sysconfdir',
      'datadir',
      'includedir',
      'localstatedir',
      'runtimedir',
      'logdir',
      'cachedir',
    ]
      .map((name) => `${name}: ${directory}`)
      .join('\n');
  return startProxy('trafficserver', () => '', {
    files: (port, directory) => ({
      'runroot.yaml': `${here(directory)}
bindir: ${PACKAGES}/usr/bin
sbindir: ${PACKAGES}/usr/sbin
libdir: ${PACKAGES}/usr/lib
libexecdir: ${PACKAGES}/usr/lib/trafficserver/modules
`,
      'records.config': `
CONFIG proxy.config.http.server_ports STRING ${port}:ip-in=127.0.0.1
CONFIG proxy.config.admin.user_id STRING #-1
CONFIG proxy.config.crash_log_helper STRING NULL
CONFIG proxy.config.body_factory.template_sets_dir STRING ${directory}/body_factory
${records}
`,
      'remap.config': `map / ${service}/\n`,
      'storage.config': `${directory} 16M\n`,
      ...(access !== undefined && { 'ip_allow.yaml': access }),
    }),
  });
}
