import { header, type HostRequest } from 'nest-agent-query/protocol';

/**
 * Where callers reach the service, as they have sent a request: behind a proxy, as far as the host trusts it.
 *
 * @returns such as `https://agents.example.com`
 */
export function originOf(request: HostRequest): string {
  const { protocol = 'http', host = header(request, 'host') } = request as {
    protocol?: string;
    host?: string;
  };
  return `${protocol}://${host}`;
}
