import { InvalidArgumentError } from 'commander';

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
 * @param key an API key or a token
 * @throws {InvalidArgumentError} it is no URL of a service
 */
export function targetOf(text: string, key: string | undefined): Target {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw new InvalidArgumentError(
      `${JSON.stringify(text)} is no URL of a service. Write one such as https://agent.example.com.`,
    );
  if (url.username !== '' || url.password !== '')
    throw new InvalidArgumentError('The URL has a user or a password. Give an API key with --key instead.');
  const base = url.pathname.replace(/\/+$/, '');
  return {
    origin: new URL(url.origin),
    path: base.endsWith('/query') ? base : `${base}/query`,
    headers: key === undefined || key === '' ? {} : { authorization: `Bearer ${key}` },
  };
}
