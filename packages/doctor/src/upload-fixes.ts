import { type Fix, NOTHING } from './fix.js';

const UPLOADS_PASS = `${NOTHING}: uploads pass at once`;
const REFUSALS_PASS = `${NOTHING}: it passes refusals on at once; look at the next proxy`;

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

/** What helps against faults of uploads, but for their size. */
export const UPLOAD_FIXES = {
  'collected-uploads': {
    ...UPLOADS,
    always: 'Without it, uploads work, but are written twice, and refused late.',
  },
  'late-refusals': {
    always: 'Uploads work. Only a refusal waits until the upload has ended.',
    apache: UPLOADS_PASS,
    lighttpd: 'server.stream-request-body = 1',
    varnish: UPLOADS_PASS,
    nginx: REFUSALS_PASS,
    caddy: REFUSALS_PASS,
    haproxy: REFUSALS_PASS,
    squid: REFUSALS_PASS,
    nghttpx: REFUSALS_PASS,
    trafficserver: REFUSALS_PASS,
    unknown: 'let it read the answer while the body is sent, if it has a setting for that',
  },
  uploads: {
    ...UPLOADS,
    always: 'Without it, uploads work, but are refused late.',
    apache: `${UPLOADS_PASS}, unless there is SetEnv proxy-sendcl`,
    varnish: `${UPLOADS_PASS}, unless VCL has std.cache_req_body`,
  },
  'small-uploads': UPLOADS,
  pauses: {
    always: 'Clients with a bad network pause while they send. The service waits 30 s for them.',
    apache: 'RequestReadTimeout body=30,MinRate=500',
    h2o: 'http1-request-timeout: 30 (the default is 10)',
    unknown: 'let it wait for the next byte of a body for 30 s or more',
  },
} satisfies Record<string, Fix>;
