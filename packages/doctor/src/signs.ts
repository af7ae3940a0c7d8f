/**
 * A proxy, a header, and what its value is; and what another header of the same answer must be. Of `Server` and `Via`, each element
 * is looked at, and belongs to the first sign that fits.
 */
export type Sign<Name extends string = string> = readonly [
  name: Name,
  header: string,
  pattern: RegExp,
  other?: { header: string; pattern: RegExp },
];

const BY_FASTLY = { header: 'x-served-by', pattern: /^cache-/i };
const NOT_BY_FASTLY = { header: 'x-served-by', pattern: /^(?!cache-)/i };

/**
 * What proxies write into answers that they pass on. HAProxy, load balancers of AWS, Traefik, and what only ends TLS write nothing.
 * The signs of nginx, Caddy, Apache, lighttpd, Varnish, Squid, h2o, nghttpx, Traffic Server and tinyproxy were seen with the program
 * itself. Those of the others are in the documents of their makers.
 */
export const SIGNS = [
  ['cloudflare', 'CF-Ray', /./],
  ['cloudflare', 'Server', /^cloudflare/i],
  // Istio writes istio-envoy.
  ['envoy', 'X-Envoy-Upstream-Service-Time', /./],
  ['envoy', 'Server', /envoy/i],
  // OpenResty and Tengine are nginx with additions.
  ['nginx', 'Server', /^(?:nginx|openresty|tengine)(?![\w-])/i],
  ['caddy', 'Server', /^caddy/i],
  ['caddy', 'Via', /\bcaddy\b/i],
  ['alb', 'Server', /^awselb/i],
  ['alb', 'Set-Cookie', /^AWSALB/],
  // Apache-Coyote is Tomcat.
  ['apache', 'Server', /^apache(?![\w-])/i],
  ['apache', 'Via', /\(apache\//i],
  ['lighttpd', 'Server', /^lighttpd/i],
  // Fastly is a Varnish that hides its version: www.fastly.com/documentation/reference/http/http-headers
  ['fastly', 'X-Served-By', BY_FASTLY.pattern],
  ['fastly', 'Via', /^\S+ varnish$/i, BY_FASTLY],
  ['varnish', 'Via', /\bvarnish\b/i],
  ['varnish', 'X-Varnish', /./, NOT_BY_FASTLY],
  ['varnish', 'Server', /^varnish/i],
  ['squid', 'Via', /\bsquid\b/i],
  ['squid', 'Server', /^squid/i],
  // CloudFront writes "Miss from cloudfront".
  ['squid', 'X-Cache', /^(?:HIT|MISS|NONE) from (?!cloudfront)/i],
  ['h2o', 'Server', /^h2o(?![\w-])/i],
  ['nghttpx', 'Server', /^nghttpx/i],
  ['nghttpx', 'Via', /\bnghttpx\b/i],
  ['trafficserver', 'Server', /^ATS(?![\w-])/i],
  ['trafficserver', 'Via', /\bApacheTrafficServer\b/i],
  ['tinyproxy', 'Via', /\btinyproxy\b/i],
  ['tinyproxy', 'Server', /^tinyproxy/i],
  // What the key headers of kong.conf adds by default.
  ['kong', 'Via', /\bkong\//i],
  ['kong', 'Server', /^kong\//i],
  ['kong', 'X-Kong-Upstream-Latency', /./],
  // Application Request Routing, the proxy of IIS, adds the second one.
  ['iis', 'Server', /^Microsoft-IIS/i],
  ['iis', 'X-Powered-By', /^ARR\//i],
  // docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide: "Request and response behavior for custom origins"
  ['cloudfront', 'Via', /\(CloudFront\)/i],
  ['cloudfront', 'X-Amz-Cf-Id', /./],
  ['cloudfront', 'Server', /^cloudfront/i],
  // cloud.google.com/load-balancing/docs/https: "Target proxies"; App Engine and Cloud Run write the second one.
  ['google', 'Via', /^\S+ google$/i],
  ['google', 'Server', /^Google Frontend/i],
  // learn.microsoft.com/azure/frontdoor/front-door-http-headers-protocol
  ['frontdoor', 'X-Azure-Ref', /./],
  // techdocs.akamai.com/property-mgr
  ['akamai', 'Server', /^Akamai/i],
  ['akamai', 'X-Akamai-Transformed', /./],
  ['akamai', 'Akamai-GRN', /./],
] as const satisfies readonly Sign[];

/**
 * The elements of a list (RFC 9110 §5.6.1). A comma in a comment, such as `(Debian, 12)`, ends none. Where a comment has no end, each
 * comma ends one, so that it hides nothing.
 */
export function elementsOf(value: string | string[] = []): string[] {
  const text = [value].flat().join(',');
  const elements: string[] = [];
  let element = '';
  let depth = 0;
  for (const character of text) {
    if (character === '(') depth++;
    if (character === ')' && depth > 0) depth--;
    if (character === ',' && depth === 0) {
      elements.push(element.trim());
      element = '';
    } else element += character;
  }
  const all = depth > 0 ? text.split(',').map((each) => each.trim()) : [...elements, element.trim()];
  return all.filter((each) => each !== '');
}
