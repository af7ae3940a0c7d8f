import type { ProxyName } from './proxies.js';

/**
 * What to write into the configuration of a proxy, and what helps in any case (`always`). `%` is the subject of the finding. What is
 * for `unknown` is for each that has no text of its own.
 */
export type Fix = Partial<Record<ProxyName, string>> & { always?: string };

/** Faults that have the same remedy. */
export type FixName = keyof typeof FIXES;

/** Begins what is said of a proxy that does not have the fault, or that cannot be told to leave it. */
export const NOTHING = 'nothing to set';

const STREAMS = `${NOTHING}: it passes events on at once; look at the next proxy`;
const NO_LIMIT = `${NOTHING}: it has no such limit; look at the next proxy`;
const UPLOADS_PASS = `${NOTHING}: uploads pass at once`;

/** Where uploads are collected. */
const UPLOADS: Fix = {
  nginx: 'proxy_request_buffering off; proxy_http_version 1.1;',
  caddy: 'in reverse_proxy: no request_buffers',
  haproxy: 'remove option http-buffer-request',
  envoy: 'remove the filter buffer from this route',
  alb: 'it passes uploads on, but not to a Lambda target',
  cloudflare: 'a Configuration Rule for this path with request_body_buffering: none',
  apache: 'remove SetEnv proxy-sendcl',
  lighttpd: 'server.stream-request-body = 1',
  varnish: 'remove std.cache_req_body from VCL',
  squid: UPLOADS_PASS,
  h2o: `${NOTHING} in version 2.2: it collects each upload`,
  nghttpx: UPLOADS_PASS,
  trafficserver: 'proxy.config.http.request_buffer_enabled: 0 (the default)',
  unknown: 'let it pass the body of a request on while it is sent',
};

const REQUEST_HEADER: Fix = {
  nginx: 'remove proxy_set_header % …; and proxy_pass_request_headers off;',
  caddy: 'in reverse_proxy: remove header_up % and header_up -%',
  haproxy: 'remove http-request del-header % and http-request set-header %',
  envoy: 'remove % from request_headers_to_remove and request_headers_to_add',
  alb: 'it passes % on; with CloudFront before it: the origin request policy AllViewer',
  cloudflare: 'remove the Transform Rule that modifies the request header %',
  apache: 'remove RequestHeader unset % and RequestHeader set %',
  lighttpd: 'remove % from setenv.set-request-header',
  varnish: 'remove unset req.http.% and set req.http.% from VCL',
  squid: 'remove request_header_access % deny …',
  unknown: 'let it pass the header % of requests on unchanged',
};

export const FIXES = {
  buffering: {
    nginx: 'proxy_buffering off; proxy_http_version 1.1; and no proxy_ignore_headers X-Accel-Buffering',
    caddy: 'in reverse_proxy: flush_interval -1, and no response_buffers',
    haproxy: 'it passes events on at once; remove filters from this backend, or look at the next proxy',
    envoy: 'remove the filter file_system_buffer (or a Lua filter that reads bodies) from this route',
    alb: 'it passes events on, but not those of a Lambda target: use a target of type instance or ip',
    cloudflare: 'a Configuration Rule for this path with response_body_buffering: none',
    apache: STREAMS,
    lighttpd: 'server.stream-response-body = 1',
    varnish: 'remove beresp.do_stream = false and beresp.do_gzip = true from VCL',
    squid: STREAMS,
    h2o: STREAMS,
    nghttpx: STREAMS,
    trafficserver: STREAMS,
    unknown: 'let it pass an answer on as it comes, and collect nothing of it',
  },
  late: {
    nginx: 'tcp_nodelay on; (the default)',
    caddy: 'in reverse_proxy: flush_interval -1, not a time',
    haproxy: 'option http-no-delay',
    envoy: 'it sends at once; look at the next proxy',
    alb: 'it sends at once; look at the next proxy',
    cloudflare: 'a Configuration Rule for this path with response_body_buffering: none',
    apache: STREAMS,
    varnish: STREAMS,
    squid: STREAMS,
    h2o: STREAMS,
    nghttpx: STREAMS,
    trafficserver: STREAMS,
    unknown: 'let it send each event at once, and not wait for more bytes',
  },
  compression: {
    nginx: 'gzip off; in this location, or remove text/event-stream from gzip_types',
    caddy: 'encode only other paths: @other not path /query* and encode @other gzip',
    haproxy: 'remove text/event-stream from compression type, or the line compression algo',
    envoy: 'remove text/event-stream from content_type of the filter compressor',
    alb: 'it does not compress; with CloudFront before it: Compress objects automatically: No',
    cloudflare: 'a Compression Rule for this path: Disable compression',
    apache: 'SetEnvIf Request_URI ^/query no-gzip; or no SetOutputFilter DEFLATE',
    lighttpd: `${NOTHING}: it does not compress streams; look at the next proxy`,
    varnish: 'remove beresp.do_gzip = true from VCL',
    h2o: `${NOTHING}: it does not compress streams; look at the next proxy`,
    unknown: 'let it not compress text/event-stream',
  },
  idle: {
    always: 'Or let the service send more keep-alives: set KEEP_ALIVE_MS to less than that time.',
    nginx: 'proxy_read_timeout 60s;',
    caddy: 'remove read_timeout from the transport of reverse_proxy',
    haproxy: 'timeout server 60s and timeout client 60s',
    envoy: 'idle_timeout of the route and stream_idle_timeout of the connection manager: 300s',
    alb: 'the attribute idle_timeout.timeout_seconds: 60 or more',
    cloudflare: 'it waits 100 s for the next byte: send keep-alives more often than that',
    apache: 'ProxyTimeout 60 (the default is that of Timeout)',
    lighttpd: 'server.max-write-idle = 360 (the default), and no read-timeout in proxy.server',
    varnish: '.first_byte_timeout = 60s; .between_bytes_timeout = 60s; of the backend (the defaults)',
    squid: 'read_timeout 15 minutes (the default)',
    h2o: 'proxy.timeout.io: 60000 (the default is 30000)',
    nghttpx: 'backend-read-timeout=60s (the default)',
    trafficserver:
      'proxy.config.http.transaction_no_activity_timeout_in and …_out: 60 or more (the default is 30)',
    unknown: 'let it wait for the next byte of an answer for 60 s or more',
  },
  duration: {
    always: 'Clients resume an answer that was cut, but each cut costs a moment.',
    nginx: 'it has no such limit; look at proxy_read_timeout, and at reloads (worker_shutdown_timeout)',
    caddy: 'remove write from the timeouts of servers in the global options',
    haproxy: 'it has no such limit; look at timeout server, and at reloads (hard-stop-after)',
    envoy: 'timeout: 0s of the route (the default is 15 s), and no max_stream_duration',
    alb: 'it has no such limit; look at the deregistration delay of the target group',
    cloudflare: 'it has no such limit; look at what is behind it',
    apache: NO_LIMIT,
    lighttpd: NO_LIMIT,
    varnish: 'varnishd -p send_timeout=3600 (the default is 600 s)',
    squid: 'client_lifetime 1 day (the default)',
    h2o: NO_LIMIT,
    nghttpx: NO_LIMIT,
    trafficserver: 'proxy.config.http.transaction_active_timeout_in: 0 (the default is 900 s)',
    unknown: 'let it not bound how long an answer lasts',
  },
  body: {
    always: 'The limits of the service allow about 700 MiB: base64 makes files a third longer.',
    nginx: 'client_max_body_size 768m; (the default is 1m)',
    caddy: 'request_body { max_size 768MB }, or no request_body',
    haproxy: 'remove http-request deny rules that look at req.body_size or req.hdr(content-length)',
    envoy: 'max_request_bytes of the filter buffer, or remove the filter from this route',
    alb: 'AWS WAF: the rule SizeRestrictions_BODY; a Lambda target takes at most 1 MB',
    cloudflare: 'the maximum upload size of the plan: 100 MB for Free and Pro, 200 MB for Business',
    apache: `${NOTHING}: LimitRequestBody is not for what it passes on; look at the next proxy`,
    lighttpd: 'server.max-request-size = 0 (the default)',
    varnish: NO_LIMIT,
    squid: 'request_body_max_size 0 (the default)',
    h2o: 'limit-request-body: 805306368 (the default is 1 GiB)',
    nghttpx: NO_LIMIT,
    trafficserver: 'proxy.config.http.request_buffer_enabled: 0 (the default)',
    unknown: 'let it pass bodies of up to 768 MiB on',
  },
  'collected-uploads': {
    ...UPLOADS,
    always: 'Without it, uploads work, but are written twice, and refused late.',
  },
  'late-refusals': {
    always: 'Uploads work. Only a refusal waits until the upload has ended.',
    apache: UPLOADS_PASS,
    lighttpd: 'server.stream-request-body = 1',
    varnish: UPLOADS_PASS,
    unknown: 'let it read the answer while the body is sent, if it has a setting for that',
  },
  uploads: {
    ...UPLOADS,
    always: 'Without it, uploads work, but are refused late.',
    apache: `${UPLOADS_PASS}, unless there is SetEnv proxy-sendcl`,
    varnish: `${UPLOADS_PASS}, unless VCL has std.cache_req_body`,
  },
  pauses: {
    always: 'Clients with a bad network pause while they send. The service waits 30 s for them.',
    apache: 'RequestReadTimeout body=30,MinRate=500',
    h2o: 'http1-request-timeout: 30 (the default is 10)',
    unknown: 'let it wait for the next byte of a body for 30 s or more',
  },
  'request-header': REQUEST_HEADER,
  authorization: {
    ...REQUEST_HEADER,
    squid: 'login=PASSTHRU on cache_peer',
  },
  'response-header': {
    nginx: 'remove proxy_hide_header %; and, for Cache-Control, expires …;',
    caddy: 'remove header -% and, in reverse_proxy, header_down -%',
    haproxy: 'remove http-response del-header % and http-response set-header %',
    envoy: 'remove % from response_headers_to_remove and response_headers_to_add',
    alb: 'it passes % on; with CloudFront before it: remove the response headers policy',
    cloudflare: 'remove the Transform Rule or Cache Rule that modifies the response header %',
    apache: 'remove Header unset % and Header set %',
    lighttpd: 'remove % from setenv.set-response-header',
    varnish: 'remove unset resp.http.% and set resp.http.% from VCL',
    squid: 'remove reply_header_access % deny …',
    h2o: 'remove header.unset: %',
    unknown: 'let it pass the header % of answers on unchanged',
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
    apache: 'Header edit Content-Location ^/ %/',
    lighttpd: 'proxy.header = ("map-urlpath" => ("%/" => "/"))',
    varnish:
      'if (resp.http.Content-Location) { set resp.http.Content-Location = "%" + resp.http.Content-Location; }',
    unknown: 'let it write % before the path in Content-Location',
  },
  delete: {
    nginx: 'remove limit_except, or name DELETE in it',
    caddy: 'name DELETE in the matcher method of this route',
    haproxy: 'http-request deny unless { method GET HEAD POST DELETE OPTIONS }',
    envoy: 'allow DELETE in the match on :method of the route, and in the filter rbac',
    alb: 'allow DELETE in the condition http-request-method, and in AWS WAF',
    cloudflare: 'remove the WAF rule that blocks the method',
    apache: 'remove LimitExcept, or name DELETE in it',
    lighttpd: 'remove url.access-deny for this method',
    varnish: 'remove the return (synth(…)) for this method from vcl_recv',
    squid: 'name DELETE in the acl of type method that http_access allows',
    trafficserver: 'ip_allow.yaml: name DELETE in methods of the rule that allows your callers',
    unknown: 'let it pass the method DELETE on',
  },
  http2: {
    apache: 'Protocols h2 http/1.1, with the module http2',
    unknown: 'let it offer h2 with ALPN',
    nginx: 'http2 on; (before version 1.25.1: listen 443 ssl http2;)',
    caddy: 'it offers HTTP/2 unless protocols of servers leaves it out',
    haproxy: 'bind :443 ssl crt … alpn h2,http/1.1',
    envoy: 'alpn_protocols: [h2, http/1.1], and codec_type: AUTO',
    alb: 'the attribute routing.http2.enabled: true',
    cloudflare: 'Speed, Protocol: HTTP/2 on',
  },
} satisfies Record<string, Fix>;
