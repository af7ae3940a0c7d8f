import { UsageError } from './failures.js';

/**
 * The URL of a service.
 *
 * @param agent which of its agents is meant, where it has several
 * @throws {UsageError} the text is not an address; the message does not repeat a password
 */
export function addressOf(text: string, agent?: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol) && url.username + url.password + url.search + url.hash === '') {
    if (agent !== undefined) url.pathname = `${url.pathname.replace(/\/+$/, '')}/${agent}`;
    return url;
  }
  const shown = text.replace(/^([a-z]+:\/\/)?.*@/is, '$1…@');
  throw new UsageError(
    `The URL of the service is ${JSON.stringify(shown)}. It must begin with http:// or https://, and have no user, ` +
      'no password, "?" or "#". --url or AGENT_QUERY_URL sets it.',
  );
}

/**
 * The header that an API key or a token is sent in.
 *
 * @param key undefined: there is none
 * @throws {UsageError} it cannot be sent
 */
export function credentialOf(key: string | undefined): Record<string, string> {
  if (key === undefined) return {};
  if (/^[\x21-\x7e]+$/.test(key)) return { authorization: `Bearer ${key}` };
  throw new UsageError('The key must consist of visible ASCII characters. --key or AGENT_QUERY_KEY sets it.');
}
