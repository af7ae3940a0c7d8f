import { addressOf, credentialOf } from '../address.js';

/** The endpoint of an agent as the user's clients reach it. */
export interface Target {
  /** Protocol, host and port. */
  origin: URL;
  /** The path of the endpoint, such as `/api/query`. */
  path: string;
  /** What every request has: the credential. */
  headers: Record<string, string>;
}

/**
 * @param text the URL of the service, or that of its endpoint
 * @param endpoint the path of the endpoint below the URL, such as `query`
 * @param key an API key or a token
 * @throws {UsageError} it is no URL of a service, or the key is none
 */
export function targetOf(text: string, endpoint: string, key: string | undefined): Target {
  const url = addressOf(text);
  const base = url.pathname.replace(/\/+$/, '');
  return {
    origin: new URL(url.origin),
    path: base.endsWith(`/${endpoint}`) ? base : `${base}/${endpoint}`,
    headers: credentialOf(key),
  };
}
