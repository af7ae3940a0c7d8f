import {
  AgentQueryError,
  connectionLost,
  invalidResponse,
  redirected,
  refusalOf,
  responseCut,
} from './agent-query-error.js';
import { beginningOf } from './beginning-of.js';
import { Retries } from './retries.js';
import { either, unlessAborted } from './signals.js';

/** What `new Headers()` takes: an object, pairs, or headers. */
export type HeadersInput = ConstructorParameters<typeof Headers>[0];

/** Options of the client. Each may be absent. */
export interface AgentQueryClientOptions {
  /**
   * The address of the service, with its prefix if it has one, such as `https://example.org/api`. In a browser also a path, or
   * empty (the default): the origin of the page.
   */
  baseUrl?: string | undefined;
  /** The path of the endpoint below `baseUrl`. Default `query`. */
  path?: string | undefined;
  /**
   * Headers of every request, such as `Authorization`; or a function that returns them, called for each request. What it throws
   * is thrown by the call.
   */
  headers?: HeadersInput | (() => HeadersInput | Promise<HeadersInput>) | undefined;
  /** Sends the requests. Default: `fetch` of the platform. */
  fetch?: typeof fetch | undefined;
  /**
   * How often a request is tried again without progress, from 0. Default 8. A query to which no response has ever come, and a
   * request for JSON, is tried again 3 times at most.
   */
  maxRetries?: number | undefined;
  /**
   * The milliseconds after which a silent connection counts as cut; 0 or `Infinity`: never. Default 60,000. The service sends a
   * keep-alive every 4 seconds, unless its host has changed that. An upload may be silent for as long as it takes.
   */
  idleTimeoutMs?: number | undefined;
}

/** One request. */
export interface RequestParts {
  method?: string;
  headers?: Record<string, string> | undefined;
  body?: string | Blob | ReadableStream<Uint8Array>;
  signal?: AbortSignal | undefined;
  /** When the body was sent whole. Before that, the response may take any time. Default: at once. */
  whenSent?: Promise<void> | undefined;
}

/** What becomes of a response. */
type Read<T> = (response: Response) => T | Promise<T>;

/** How often a request that is not part of an answer is tried again. */
const REPEATS = 3;

const JSON_TYPE = 'application/json';

/** A redirect could lead to another host, which would get the query, and headers that only the caller knows as credentials. */
const OF_ALL = { redirect: 'manual' } as const;

/**
 * Without `duplex`, Node sends no stream. Without the other two, Node keeps a copy of all that was sent, for a redirect that
 * cannot follow a stream anyway (Fetch Standard, HTTP-network-or-cache fetch).
 */
const OF_STREAM = { duplex: 'half', redirect: 'error', window: null } as const;

/** Requests to one endpoint. */
export class Connection {
  readonly maxRetries: number;
  readonly idleMs: number;
  /** Whether the service takes files before their query, as far as is known. */
  takesFiles = true;
  readonly #endpoint: string;
  readonly #options: AgentQueryClientOptions;

  constructor(options: AgentQueryClientOptions) {
    const { baseUrl = '', path = 'query', maxRetries = 8, idleTimeoutMs = 60_000 } = options;
    this.#endpoint = [baseUrl.replace(/\/+$/, ''), ...path.split('/').filter(Boolean)].join('/');
    this.maxRetries = maxRetries;
    // A longer timer would end at once.
    this.idleMs = idleTimeoutMs < 2 ** 31 ? idleTimeoutMs : 0;
    this.#options = options;
  }

  /**
   * The address of what is below the endpoint: path segments, each encoded.
   *
   * @throws {TypeError} a segment would lead to another address (RFC 3986 §5.2.4), or to none
   */
  url(...segments: string[]): string {
    for (const segment of segments)
      if (/^\.{0,2}$/.test(segment)) throw new TypeError(`${JSON.stringify(segment)} is no id.`);
    return [this.#endpoint, ...segments.map(encodeURIComponent)].join('/');
  }

  /** The headers of the caller, and those of one request, which win. */
  async headers({ headers: own = {}, signal }: RequestParts): Promise<Headers> {
    const { headers } = this.#options;
    const all = new Headers(typeof headers === 'function' ? await unlessAborted(headers(), signal) : headers);
    for (const [name, value] of Object.entries(own)) all.set(name, value);
    return all;
  }

  /**
   * Sends a request, and closes its connection where that or `read` fails.
   *
   * @param read reads a response of a status below 300, in `idleTimeoutMs`
   * @returns what `read` returns
   * @throws {AgentQueryError} the service refuses, or `connection_lost` · the reason of `signal` · as `read`
   */
  async send<T>(url: string, request: RequestParts, read: Read<T>): Promise<T> {
    const { method = 'GET', body, signal, whenSent } = request;
    const headers = await this.headers(request);
    const silence = new AbortController();
    const init = { ...OF_ALL, method, headers, body: body ?? null, signal: either(signal, silence.signal) };
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isWaiting = this.idleMs > 0;
    void Promise.resolve(whenSent).then(() => {
      if (isWaiting) timer = setTimeout(() => silence.abort(), this.idleMs);
    });
    try {
      const send = this.#options.fetch ?? globalThis.fetch;
      const response = await send(url, body instanceof ReadableStream ? { ...init, ...OF_STREAM } : init);
      const { ok, status } = response;
      if (ok) return await read(response);
      if (status >= 300 && status < 400) throw redirected(url, response.headers.get('Location'), status);
      // Browsers tell neither the status of a redirect nor where it leads.
      if (response.type === 'opaqueredirect') throw redirected(url, null);
      // Browsers return a response whose status line was cut, with a status such as 2 or 20.
      if (status < 200) throw responseCut();
      const text = response.body ? await beginningOf(response.body.getReader()) : '';
      throw refusalOf(status, text, response.headers.get('Retry-After'));
    } catch (error) {
      silence.abort();
      if (error instanceof AgentQueryError) throw error;
      if (signal?.aborted) throw signal.reason;
      if (isRedirect(error as Error)) throw redirected(url, null);
      throw connectionLost(`No response came from ${url}.`, error);
    } finally {
      isWaiting = false;
      clearTimeout(timer);
    }
  }

  /**
   * As `send`, for a request that can be repeated without harm: it is, where that may help.
   *
   * @param onRepeat is called before each repetition
   */
  async sendRepeatable<T>(
    url: string,
    request: RequestParts,
    read: Read<T>,
    onRepeat?: () => void,
  ): Promise<T> {
    const retries = new Retries(Math.min(REPEATS, this.maxRetries));
    for (;;) {
      try {
        return await this.send(url, request, read);
      } catch (error) {
        await retries.wait(error, 0, request.signal, onRepeat);
      }
    }
  }

  /**
   * As `sendRepeatable`, for JSON.
   *
   * @param parts `body` is sent as JSON; the others are the query of the address, where they are not `undefined`
   */
  async json<T>(
    method: string,
    { signal, body, ...query }: { signal?: AbortSignal | undefined; body?: unknown },
    ...segments: string[]
  ): Promise<T> {
    const parameters = new URLSearchParams(JSON.parse(JSON.stringify(query)) as Record<string, string>);
    const url = this.url(...segments) + (parameters.size > 0 ? `?${parameters.toString()}` : '');
    const headers: Record<string, string> = { Accept: JSON_TYPE };
    const request: RequestParts = { method, headers, signal };
    if (body !== undefined) {
      headers['Content-Type'] = JSON_TYPE;
      request.body = JSON.stringify(body);
    }
    return this.sendRepeatable(url, request, jsonOf<T>);
  }
}

/** @throws {AgentQueryError} `invalid_response`: the body is not JSON · `connection_lost` */
export async function jsonOf<T>(response: Response): Promise<T> {
  const text = await response.text().catch((cause: unknown) => {
    throw responseCut(cause);
  });
  // Browsers return a response whose headers were cut: without a body.
  if (text === '') throw responseCut();
  try {
    return JSON.parse(text) as T;
  } catch (cause) {
    throw invalidResponse('The response is not JSON.', cause);
  }
}

/** What Node, Bun and Deno throw where a stream is redirected: they have no code for it. */
function isRedirect({ message, cause }: Partial<Error>): boolean {
  const all = `${message} ${(cause as Partial<Error> | undefined)?.message}`;
  return /unexpected ?redirect|encountered redirect/i.test(all);
}
