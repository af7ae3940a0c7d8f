/** The headers that a browser sends to the endpoint, besides those that it may always send. */
const ALLOWED_HEADERS = [
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'If-Range',
  'Last-Event-ID',
  'Prefer',
  'Range',
  'X-API-Key',
  'traceparent',
  'tracestate',
];

/** The headers of responses that a page reads, besides those that it may always read. */
const EXPOSED_HEADERS = [
  'Accept-Ranges',
  'Content-Disposition',
  'Content-Location',
  'Content-Range',
  'ETag',
  'Location',
  'Preference-Applied',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'WWW-Authenticate',
];

/**
 * What pages of another origin need to use the endpoint: its methods, and the headers of requests and responses. Without
 * `exposedHeaders`, for example, a page cannot read `Content-Location`, and so cannot resume or cancel. The host adds the
 * origins that it allows.
 *
 * @example
 * app.enableCors({ origin: 'https://app.example.com', ...CORS_OPTIONS });
 */
export const CORS_OPTIONS: Readonly<Record<'methods' | 'allowedHeaders' | 'exposedHeaders', string>> =
  Object.freeze({
    methods: 'GET,HEAD,POST,DELETE',
    allowedHeaders: ALLOWED_HEADERS.join(','),
    exposedHeaders: EXPOSED_HEADERS.join(','),
  });
