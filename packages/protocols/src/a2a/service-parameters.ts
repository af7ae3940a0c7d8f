import { header, type HostRequest } from 'nest-agent-query/protocol';
import { versionNotSupported } from './refusals.js';

/** The extension by which a client resumes a stream after any event: each one has its number, and `Last-Event-ID` is the cursor. */
export const CURSOR_EXTENSION = 'urn:nest-agent-query:cursor:v1';

/**
 * Requires that a request is one of A2A 1.0 (§3.6.2): the number of a patch does not count, and no version means 0.3.
 *
 * @param parameters those of the URL, which may have the version instead of the header
 * @throws {QueryError} `version_not_supported`
 */
export function requireVersion(request: HostRequest, parameters: Record<string, unknown>): void {
  const parameter = parameters['A2A-Version'];
  const version = header(request, 'a2a-version') || (typeof parameter === 'string' ? parameter : '');
  if (!/^1\.0(\.\d+)?$/.test(version.trim())) throw versionNotSupported(version);
}

/** Whether a request names the extension. */
export function wantsCursors(request: HostRequest): boolean {
  const named = header(request, 'a2a-extensions') ?? '';
  return named.split(',').some((uri) => uri.trim() === CURSOR_EXTENSION);
}
