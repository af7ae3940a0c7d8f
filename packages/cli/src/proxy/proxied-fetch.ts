import { AgentQueryError } from 'nest-agent-query-client';
import type { Dispatcher } from 'undici';
import { ProxyFailure } from '../failures.js';
import { type ForwardProxy, WANTS_NAME } from './forward-proxy.js';

/**
 * A `fetch` whose requests go through a proxy. What the proxy does wrong is an `AgentQueryError` that names it.
 *
 * @param target the address of the service: all requests go there
 */
export function proxiedFetch(proxy: ForwardProxy, target: URL): typeof fetch {
  const isRelayed = proxy.relayed(target) !== undefined;
  let loaded: ReturnType<typeof load> | undefined;
  const send = async (url: string, init: { signal?: AbortSignal }) => {
    // The library is loaded only where there is a proxy.
    const { fetch, dispatcher } = await (loaded ??= load(proxy, isRelayed));
    const response = await fetch(url, { ...init, dispatcher }).catch((error: Error) => {
      if (init.signal?.aborted) throw error;
      throw failureOf(error, proxy, isRelayed);
    });
    if (!isRelayed || !/^text\/html\b/i.test(response.headers.get('content-type') ?? '')) return response;
    await response.body?.cancel();
    throw pageOf(response.status, proxy);
  };
  return send as unknown as typeof fetch;
}

async function load(proxy: ForwardProxy, isRelayed: boolean) {
  const { Agent, fetch, ProxyAgent } = await import('undici');
  const { url, credential: token } = proxy;
  if (isRelayed) {
    const own = { uri: url.origin, proxyTunnel: false, ...(token !== undefined && { token }) };
    return { fetch, dispatcher: new ProxyAgent(own) };
  }
  // `ProxyAgent` never answers where the proxy closes the connection.
  const dispatcher = new Agent({
    connect: ({ protocol, hostname, port }, callback) => {
      const target = new URL(`${protocol}//${hostname}${port ? `:${port}` : ''}`);
      proxy.open(target, ['http/1.1']).then(
        (socket) => callback(null, socket),
        (error: Error) => callback(error, null),
      );
    },
  });
  return { fetch, dispatcher: dispatcher as Dispatcher };
}

function failureOf(error: Error, proxy: ForwardProxy, isRelayed: boolean): Error {
  const { cause } = error;
  if (cause instanceof ProxyFailure) return asClientError(cause);
  if (!isRelayed || !(cause instanceof Error)) return error;
  if (cause.message.includes('(407)'))
    return asClientError(proxy.failure(`refuses (407). ${WANTS_NAME}`, true));
  const failure = proxy.failureOf(cause) ?? proxy.failure('gives no answer.', false, cause);
  return asClientError(failure);
}

/** An answer of the service never is a page. */
function pageOf(status: number, proxy: ForwardProxy): AgentQueryError {
  const what =
    `answers with a page (${status}): it refuses, cannot reach the service, or is no proxy for HTTP. ` +
    'NO_PROXY names the hosts that are asked directly.';
  return asClientError(proxy.failure(what, status < 502 || status > 504));
}

function asClientError(failure: ProxyFailure): AgentQueryError {
  const code = failure.isFinal ? 'invalid_response' : 'connection_lost';
  return new AgentQueryError(code, failure.message, { cause: failure });
}
