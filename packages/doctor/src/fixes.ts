import { PROXIES, type ProxyName, type SeenProxy } from './proxies.js';

/** What helps, whatever the proxy is, and what to write into the configuration of each. `%` is the subject of the finding. */
type Fix = Record<ProxyName, string> & { always?: string };

/** Faults that have the same remedy. */
export type FixName = keyof typeof FIXES;

const FIXES = {
  buffering: {
    nginx: 'proxy_buffering off; proxy_http_version 1.1; and no proxy_ignore_headers X-Accel-Buffering',
    caddy: 'in reverse_proxy: flush_interval -1, and no response_buffers',
    haproxy: 'it passes events on at once; remove filters from this backend, or look at the next proxy',
    envoy: 'remove the filter file_system_buffer (or a Lua filter that reads bodies) from this route',
    alb: 'it passes events on, but not those of a Lambda target: use a target of type instance or ip',
    cloudflare: 'a Configuration Rule for this path with response_body_buffering: none',
  },
  late: {
    nginx: 'tcp_nodelay on; (the default)',
    caddy: 'in reverse_proxy: flush_interval -1, not a time',
    haproxy: 'option http-no-delay',
    envoy: 'it sends at once; look at the next proxy',
    alb: 'it sends at once; look at the next proxy',
    cloudflare: 'a Configuration Rule for this path with response_body_buffering: none',
  },
  compression: {
    nginx: 'gzip off; in this location, or remove text/event-stream from gzip_types',
    caddy: 'encode only other paths: @other not path /query* and encode @other gzip',
    haproxy: 'remove text/event-stream from compression type, or the line compression algo',
    envoy: 'remove text/event-stream from content_type of the filter compressor',
    alb: 'it does not compress; with CloudFront before it: Compress objects automatically: No',
    cloudflare: 'a Compression Rule for this path: Disable compression',
  },
  idle: {
    always: 'Or let the service send more keep-alives: set KEEP_ALIVE_MS to less than that time.',
    nginx: 'proxy_read_timeout 60s;',
    caddy: 'remove read_timeout from the transport of reverse_proxy',
    haproxy: 'timeout server 60s and timeout client 60s',
    envoy: 'idle_timeout of the route and stream_idle_timeout of the connection manager: 300s',
    alb: 'the attribute idle_timeout.timeout_seconds: 60 or more',
    cloudflare: 'it waits 100 s for the next byte: send keep-alives more often than that',
  },
  duration: {
    always: 'Clients resume an answer that was cut, but each cut costs a moment.',
    nginx: 'it has no such limit; look at proxy_read_timeout, and at reloads (worker_shutdown_timeout)',
    caddy: 'remove write from the timeouts of servers in the global options',
    haproxy: 'it has no such limit; look at timeout server, and at reloads (hard-stop-after)',
    envoy: 'timeout: 0s of the route (the default is 15 s), and no max_stream_duration',
    alb: 'it has no such limit; look at the deregistration delay of the target group',
    cloudflare: 'it has no such limit; look at what is behind it',
  },
  body: {
    always: 'The limits of the service allow about 700 MiB: base64 makes files a third longer.',
    nginx: 'client_max_body_size 768m; (the default is 1m)',
    caddy: 'request_body { max_size 768MB }, or no request_body',
    haproxy: 'remove http-request deny rules that look at req.body_size or req.hdr(content-length)',
    envoy: 'max_request_bytes of the filter buffer, or remove the filter from this route',
    alb: 'AWS WAF: the rule SizeRestrictions_BODY; a Lambda target takes at most 1 MB',
    cloudflare: 'the maximum upload size of the plan: 100 MB for Free and Pro, 200 MB for Business',
  },
  uploads: {
    always: 'Without it, uploads work, but are written twice, and refused late.',
    nginx: 'proxy_request_buffering off; proxy_http_version 1.1;',
    caddy: 'in reverse_proxy: no request_buffers',
    haproxy: 'remove option http-buffer-request',
    envoy: 'remove the filter buffer from this route',
    alb: 'it passes uploads on, but not to a Lambda target',
    cloudflare: 'a Configuration Rule for this path with request_body_buffering: none',
  },
  'request-header': {
    nginx: 'remove proxy_set_header % …; and proxy_pass_request_headers off;',
    caddy: 'in reverse_proxy: remove header_up % and header_up -%',
    haproxy: 'remove http-request del-header % and http-request set-header %',
    envoy: 'remove % from request_headers_to_remove and request_headers_to_add',
    alb: 'it passes % on; with CloudFront before it: the origin request policy AllViewer',
    cloudflare: 'remove the Transform Rule that modifies the request header %',
  },
  'response-header': {
    nginx: 'remove proxy_hide_header %; and, for Cache-Control, expires …;',
    caddy: 'remove header -% and, in reverse_proxy, header_down -%',
    haproxy: 'remove http-response del-header % and http-response set-header %',
    envoy: 'remove % from response_headers_to_remove and response_headers_to_add',
    alb: 'it passes % on; with CloudFront before it: remove the response headers policy',
    cloudflare: 'remove the Transform Rule or Cache Rule that modifies the response header %',
  },
  'content-location': {
    always: 'Or pass the path on unchanged, to a host whose global prefix it is.',
    nginx:
      'proxy_hide_header Content-Location; add_header Content-Location %$upstream_http_content_location;',
    caddy: 'in reverse_proxy: header_down Content-Location ^/ %/',
    haproxy: 'http-response replace-header Content-Location ^/(.*) %/\\1',
    envoy: 'do not remove the path with prefix_rewrite',
    alb: 'remove the URL rewrite of the rule',
    cloudflare: 'a Transform Rule that sets the response header, or no URL rewrite',
  },
  delete: {
    nginx: 'remove limit_except, or name DELETE in it',
    caddy: 'name DELETE in the matcher method of this route',
    haproxy: 'http-request deny unless { method GET HEAD POST DELETE OPTIONS }',
    envoy: 'allow DELETE in the match on :method of the route, and in the filter rbac',
    alb: 'allow DELETE in the condition http-request-method, and in AWS WAF',
    cloudflare: 'remove the WAF rule that blocks the method',
  },
  http2: {
    nginx: 'http2 on; (before version 1.25.1: listen 443 ssl http2;)',
    caddy: 'it offers HTTP/2 unless protocols of servers leaves it out',
    haproxy: 'bind :443 ssl crt … alpn h2,http/1.1',
    envoy: 'alpn_protocols: [h2, http/1.1], and codec_type: AUTO',
    alb: 'the attribute routing.http2.enabled: true',
    cloudflare: 'Speed, Protocol: HTTP/2 on',
  },
} satisfies Record<string, Fix>;

/** One remedy, with the title of the proxy that it is for; without a title, it is for all. */
export interface Remedy {
  proxy?: string;
  text: string;
}

/** The remedies of a finding: those of the proxies that were seen, or else of all. */
export function remediesOf(name: FixName, subject: string, seen: readonly SeenProxy[]): Remedy[] {
  const { always, ...of }: Fix = FIXES[name];
  const known = Object.keys(PROXIES) as ProxyName[];
  const shown = seen.length > 0 ? seen.map((each) => each.name) : known;
  return [
    ...shown.map((proxy) => ({ proxy: PROXIES[proxy], text: of[proxy].replaceAll('%', subject) })),
    ...(always === undefined ? [] : [{ text: always }]),
  ];
}
