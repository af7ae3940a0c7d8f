/** What the suite examines. */
export interface Target {
  /** The endpoint: `https://agent.example.com/query`. */
  endpoint: URL;
  /** What every request has: the credential. Names in lower case. Default: none. */
  headers?: Record<string, string>;
  /** The credential of another caller, who is another owner. Default: what needs one is not checked. */
  otherHeaders?: Record<string, string>;
}

/** The path that an endpoint has if its URL has none. */
const DEFAULT_PATH = '/query';

/**
 * The endpoint that a URL names.
 *
 * @param text the URL of the endpoint; the path `/query` may be left out where there is no other
 * @throws {TypeError} this is no URL, or not one of HTTP
 * @example
 * const { href } = endpointOf('http://127.0.0.1:3000'); // 'http://127.0.0.1:3000/query'
 */
export function endpointOf(text: string): URL {
  const isUrl = URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
  if (!isUrl)
    throw new TypeError(`"${text}" is not the URL of a service. Write it like http://127.0.0.1:3000/query.`);
  const { origin, pathname } = new URL(text);
  return new URL(pathname === '/' ? DEFAULT_PATH : pathname.replace(/\/+$/, ''), origin);
}
