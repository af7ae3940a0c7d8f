import type { Target } from 'nest-agent-query-doctor';
import { addressOf, credentialOf } from '../address.js';
import { proxyFor } from '../proxy/forward-proxy.js';

/**
 * What the doctor examines.
 *
 * @param text the URL of the service, or that of its endpoint
 * @param endpoint the path of the endpoint below the URL, such as `query`
 * @param key an API key or a token
 * @param agent which of its agents is meant, where it has several
 * @throws {UsageError} the URL is not that of a service, or the key is not valid
 */
export function targetOf(text: string, endpoint: string, key: string | undefined, agent?: string): Target {
  const url = addressOf(text, agent);
  const base = url.pathname.replace(/\/+$/, '');
  return {
    origin: new URL(url.origin),
    path: base.endsWith(`/${endpoint}`) ? base : `${base}/${endpoint}`,
    headers: credentialOf(key),
    through: proxyFor(url),
  };
}
