import { withoutSecrets } from 'nest-agent-query/agents';
import { beginningOf } from 'nest-agent-query-client/streams';

/**
 * The same `fetch` for a server that the operator has named. It reads the beginning of a refusal, without the secrets: what it says
 * goes to the log.
 *
 * @param secrets keys, or values of headers
 */
export function guardedFetch(fetch: typeof globalThis.fetch, secrets: readonly string[]): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    const { ok, status, statusText, headers, body } = response;
    if (ok || !body) return response;
    const text = await beginningOf(body.getReader());
    return new Response(withoutSecrets(text, secrets), { status, statusText, headers });
  };
}
