import { type Exchange, textOf } from './exchange.js';

/** An error of the service (RFC 9457). A proxy has no `code`. */
export interface ServiceProblem {
  code: string;
  detail: string;
}

/** The error of the service that a response has; undefined if it has none, so that something else has answered. */
export function serviceProblem(response: Exchange): ServiceProblem | undefined {
  if (!response.head?.headers['content-type']?.startsWith('application/problem+json')) return undefined;
  const { code, detail } = jsonOf(response) ?? {};
  return typeof code === 'string' && typeof detail === 'string' ? { code, detail } : undefined;
}

/**
 * Whether the service says that the credential of the request is not valid. RFC 6750 §3.1: only a request that had a credential is
 * told so.
 */
export function isInvalidCredential({ head }: Exchange): boolean {
  const challenge = String(head?.headers['www-authenticate'] ?? '');
  return challenge === '' || challenge.includes('error=');
}

/** The body as a JSON object; undefined if it is something else. */
export function jsonOf(response: Exchange): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(textOf(response));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** What came instead of what was expected, as a clause: `the answer was 502 with text/html`. */
export function whatCame(response: Exchange): string {
  const { head, error, end } = response;
  const problem = serviceProblem(response);
  if (problem) return `the service answered ${head!.status}: ${problem.detail}`;
  if (head) {
    const type = head.headers['content-type']?.split(';', 1)[0];
    return `the answer was ${head.status}${type === undefined ? '' : ` with ${type}`}`;
  }
  if (error) return `the connection was closed (${error.code ?? error.message})`;
  return end === 'stopped' ? 'no answer came' : 'the connection was closed without an answer';
}
