import { withoutSecrets } from 'nest-agent-query/agents';
import { beginningOf } from 'nest-agent-query-client/streams';

/**
 * The same `fetch` for a server that the operator has named. It follows no redirect: prompts and credentials are for no other
 * host. It reads the beginning of a refusal, without the secrets: what it says goes to the log.
 *
 * @param secrets keys, or values of headers
 */
export function guardedFetch(fetch: typeof globalThis.fetch, secrets: readonly string[]): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect: 'manual' });
    const { ok, status, statusText, headers, body } = response;
    if (ok) return response;
    const text = body ? await beginningOf(body.getReader()) : '';
    if (status >= 400) return new Response(withoutSecrets(text, secrets), { status, statusText, headers });
    const to = headers.get('Location') ?? 'nowhere';
    throw new TypeError(withoutSecrets(`It redirects to ${to}, which is not followed.`, secrets));
  };
}

/**
 * The same `fetch`, which fails where a successful response is a page of HTML: providers read such a page as a stream without
 * events, which looks like one that was cut.
 *
 * @param secrets keys, which the log must not have
 */
export function withoutPages(fetch: typeof globalThis.fetch, secrets: readonly string[]): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (!response.ok || !/^text\/html\b/i.test(response.headers.get('Content-Type') ?? '')) return response;
    const text = response.body ? await beginningOf(response.body.getReader()) : '';
    const error = new Error(`It answered with a page: ${withoutSecrets(text, secrets)}`);
    error.name = 'InvalidResponseDataError';
    throw error;
  };
}
