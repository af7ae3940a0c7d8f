import { localhostAllowedHostnames, validateHostHeader } from '@modelcontextprotocol/server';
import { QueryError } from 'nest-agent-query';
import { header, type HostRequest, rawRequest } from 'nest-agent-query/protocol';
import type { McpSettings } from './mcp-options.js';

const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/;

/** Refuses what the pages of strangers let a browser send. */
export class Origins {
  constructor(private readonly settings: McpSettings) {}

  /** @throws {QueryError} `forbidden` */
  check(request: HostRequest): void {
    const host = header(request, 'host');
    const hosts = this.#hostsOf(request);
    if (hosts !== '*' && !validateHostHeader(host, [...hosts]).ok)
      throw forbidden('The header Host names another machine. Let the option "allowedHosts" list that name.');
    const origin = header(request, 'origin');
    if (origin !== undefined && !this.#isAllowed(origin, host))
      throw forbidden('The page of another origin has sent this. Let the option "allowedOrigins" list it.');
  }

  #hostsOf(request: HostRequest): readonly string[] | '*' {
    const { allowedHosts } = this.settings;
    if (allowedHosts !== undefined) return allowedHosts;
    const { localAddress = '' } = rawRequest(request).socket;
    return LOOPBACK.test(localAddress) ? localhostAllowedHostnames() : '*';
  }

  #isAllowed(origin: string, host: string | undefined): boolean {
    const { allowedOrigins = [] } = this.settings;
    if (allowedOrigins === '*' || allowedOrigins.includes(origin)) return true;
    return URL.canParse(origin) && new URL(origin).host === host;
  }
}

function forbidden(detail: string): QueryError {
  return new QueryError('forbidden', detail);
}
