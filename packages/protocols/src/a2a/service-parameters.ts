import { header, type HostRequest } from 'nest-agent-query/protocol';
import { needsV1_0, versionNotSupported } from './refusals.js';

/** The extension by which a client resumes a stream after any event: each one has its number, and `Last-Event-ID` is the cursor. */
export const CURSOR_EXTENSION = 'urn:nest-agent-query:cursor:v1';

/** The version of A2A that a request names, by the header or by a parameter of its URL. Empty if it names none. */
function namedVersion(request: HostRequest): string {
  const { url = '' } = request.raw ?? request;
  const [, parameters = ''] = url.split('?', 2);
  return (
    header(request, 'a2a-version') ||
    (new URLSearchParams(parameters).get('A2A-Version') ?? '')
  ).trim();
}

/** Whether a request is one of A2A 0.3. The number of a patch does not count, and no version means 0.3 (1.0 §3.6.2). */
export function isOfV0_3(request: HostRequest): boolean {
  return /^(?:0\.3(?:\.\d+)?)?$/.test(namedVersion(request));
}

/** Requires that a request is one of A2A 1.0. @throws {QueryError} `version_not_supported` */
export function requireV1_0(request: HostRequest): void {
  if (isOfV0_3(request)) throw needsV1_0();
  const version = namedVersion(request);
  if (!/^1\.0(?:\.\d+)?$/.test(version)) throw versionNotSupported(version);
}

/** Whether a request names the extension. */
export function wantsCursors(request: HostRequest): boolean {
  const named = header(request, 'a2a-extensions') ?? '';
  return named.split(',').some((uri) => uri.trim() === CURSOR_EXTENSION);
}
