import { validateHeaderName, validateHeaderValue } from 'node:http';
import { refuseUnknown } from '../../query/index.js';

/** How the handler reaches the remote service. */
export interface RemoteOptions {
  /** Where the remote service is: queries are sent to `{url}/query`. It begins with `https:` or `http:`. */
  url: string;
  /** Headers of every request, such as a credential. Their values are kept out of the log. Default: none. */
  headers?: Record<string, string>;
  /** Names the remote service in the lines of the log. Default: nothing. */
  name?: string | undefined;
  /**
   * Milliseconds for which a query is sent again while the remote service cannot be reached, or has no room for it. Default
   * 60,000. A run that the remote service has begun is resumed for as long as the run may last.
   */
  patienceMs?: number;
}

const MEMBERS: Record<keyof RemoteOptions, true> = { url: true, headers: true, name: true, patienceMs: true };

const PATIENCE_MS = 60_000;

/** Headers that the handler itself sets. */
const OWN_HEADERS = [
  'accept',
  'accept-encoding',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'idempotency-key',
  'last-event-id',
  'prefer',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/** The options, checked. */
export interface RemoteSettings {
  /** Without a slash at its end. */
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly patienceMs: number;
  readonly name: string | undefined;
}

/**
 * Checks the options of a remote agent.
 *
 * @param caller the function that has them, for the message
 * @throws {TypeError} an option is not valid; the message has no value of a header and no part of the URL
 *
 * @example
 * const { url } = remoteSettings({ url: 'http://agent.internal:8000/' }, 'remoteHandler'); // without the slash
 */
export function remoteSettings(options: RemoteOptions, caller: string): RemoteSettings {
  refuseUnknown(caller, options, MEMBERS);
  const { url, headers = {}, patienceMs = PATIENCE_MS, name } = options;
  if (!(patienceMs >= 0)) throw new TypeError(`${caller}: "patienceMs" must be a number from 0 on.`);
  for (const [name, value] of Object.entries(headers)) checkHeader(name, value, caller);
  return { url: baseOf(url, caller), headers, patienceMs, name };
}

function baseOf(text: string, caller: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url && !url.username && !url.password && !url.search && !url.hash;
  if (!isPlain || !/^https?:$/.test(url.protocol)) {
    throw new TypeError(
      `${caller}: "url" must begin with https: or http:, and have no user, no query and no fragment.`,
    );
  }
  url.pathname = url.pathname.replace(/\/+$/, '');
  return url;
}

function checkHeader(name: string, value: string, caller: string): void {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  } catch {
    throw new TypeError(`${caller}: the header ${JSON.stringify(name)} is not valid.`);
  }
  if (OWN_HEADERS.includes(name.toLowerCase()))
    throw new TypeError(`${caller}: the header ${JSON.stringify(name)} is set by the handler itself.`);
}
