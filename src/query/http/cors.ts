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
    // Besides those that a browser may always send, and those that a page may always read.
    allowedHeaders:
      'Authorization,Content-Disposition,Content-Type,Idempotency-Key,If-Range,Last-Event-ID,Prefer,Range,Session-After,X-API-Key,' +
      'traceparent,tracestate,' +
      // Clients of A2A name its version and extensions.
      'A2A-Extensions,A2A-Version,' +
      // The client of OpenAI sends them with each request.
      'X-Stainless-Arch,X-Stainless-Custom-Poll-Interval,X-Stainless-Helper-Method,X-Stainless-Lang,X-Stainless-OS,' +
      'X-Stainless-Package-Version,X-Stainless-Poll-Helper,X-Stainless-Retry-Count,X-Stainless-Runtime,' +
      'X-Stainless-Runtime-Version,X-Stainless-Timeout,' +
      // Those of MCP do, too.
      'MCP-Protocol-Version,Mcp-Method,Mcp-Name,Mcp-Session-Id',
    exposedHeaders:
      'Accept-Ranges,Content-Disposition,Content-Location,Content-Range,ETag,Location,Preference-Applied,' +
      'RateLimit,RateLimit-Policy,Retry-After,WWW-Authenticate,' +
      // Of other protocols: the run that a response shows, the form of its stream, the session that it begins, and extensions.
      'A2A-Extensions,Mcp-Session-Id,X-Run-Id,X-Vercel-AI-UI-Message-Stream,X-Workflow-Run-Id',
  });
