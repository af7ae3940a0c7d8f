import { randomUUID } from 'node:crypto';
import { Buffer } from 'node:buffer';
import http from 'node:http';
import https from 'node:https';
import { pipeline, Readable } from 'node:stream';
import { ReadableStream } from 'node:stream/web';
import { AgentQueryError } from 'nest-agent-query-client';
import {
  beginningOf,
  connectionLost,
  isTransient,
  type QueryBody,
  refusalOf,
} from 'nest-agent-query-client/streams';
import { type InputAnswer, withoutSecrets } from '../../query/index.js';
import type { RemoteSettings } from './remote-options.js';

const EVENT_STREAM = 'text/event-stream';

/** After so much silence the system asks whether the other machine is still there. A silent agent is no fault. */
const TCP_KEEP_ALIVE_MS = 30_000;

/** How long a refusal is read. */
const READ_MS = 5_000;

/** A request without what every request has. */
interface Call {
  method: 'POST' | 'GET' | 'DELETE';
  path: string;
  headers?: http.OutgoingHttpHeaders;
  body?: Pick<QueryBody, 'open'>;
  signal: AbortSignal;
}

/**
 * The remote service: its calls, each with one response. Redirects are not followed. Each call throws an `AgentQueryError`: with a
 * `status` if the service refuses, and otherwise `connection_lost`, whose cause is the error of the connection.
 */
export class RemoteService {
  readonly #client: typeof http | typeof https;
  readonly #agent: http.Agent;
  /** Whether it keeps runs that can be followed, resumed and cancelled, and knows idempotency keys; undefined until known. */
  keepsRuns: boolean | undefined;

  constructor(private readonly settings: RemoteSettings) {
    this.#client = settings.url.protocol === 'https:' ? https : http;
    this.#agent = new this.#client.Agent({ keepAlive: true });
  }

  get patienceMs(): number {
    return this.settings.patienceMs;
  }

  /** Sends a query. */
  submit(
    body: QueryBody,
    headers: http.OutgoingHttpHeaders,
    signal: AbortSignal,
  ): Promise<http.IncomingMessage> {
    return this.#stream({
      method: 'POST',
      path: '/query',
      headers: {
        Accept: EVENT_STREAM,
        'Content-Type': 'application/json',
        'Content-Length': body.size,
        ...headers,
      },
      body,
      signal,
    });
  }

  /** Follows a run from the envelope after a number. */
  follow(
    runId: string,
    seq: number,
    headers: http.OutgoingHttpHeaders,
    signal: AbortSignal,
  ): Promise<http.IncomingMessage> {
    return this.#stream({
      method: 'GET',
      path: `/query/${runId}`,
      headers: { Accept: EVENT_STREAM, 'Last-Event-ID': `${runId}.${seq}`, ...headers },
      signal,
    });
  }

  /** Answers requests of a run, and follows it from the envelope after a number. */
  answer(
    runId: string,
    seq: number,
    answers: InputAnswer[],
    headers: http.OutgoingHttpHeaders,
    signal: AbortSignal,
  ): Promise<http.IncomingMessage> {
    const body = JSON.stringify({ answers });
    return this.#stream({
      method: 'POST',
      path: `/query/${runId}/inputs`,
      headers: {
        Accept: EVENT_STREAM,
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(body),
        'Last-Event-ID': `${runId}.${seq}`,
        ...headers,
      },
      body: { open: async () => body },
      signal,
    });
  }

  /** Downloads a file of a run from a byte on. */
  async file(
    runId: string,
    sha256: string,
    offset: number,
    headers: http.OutgoingHttpHeaders,
    signal: AbortSignal,
  ): Promise<http.IncomingMessage> {
    const response = await this.#send({
      method: 'GET',
      path: `/query/${runId}/files/${sha256}`,
      headers: { ...(offset > 0 && { Range: `bytes=${offset}-` }), ...headers },
      signal,
    });
    if (response.statusCode !== (offset > 0 ? 206 : 200)) throw await this.#refusal(response);
    return response;
  }

  /** Ends a run. It is done when its handler has stopped: before, this counts as lost, so that it is asked for again. */
  async cancel(runId: string, signal: AbortSignal): Promise<void> {
    const response = await this.#send({ method: 'DELETE', path: `/query/${runId}`, signal });
    const { statusCode = 0, headers } = response.resume();
    if (statusCode === 202) throw connectionLost('The handler of the remote run has not stopped yet.');
    const refusal = refusalOf(statusCode, '', headers['retry-after'] ?? null);
    if (isTransient(refusal)) throw refusal;
  }

  /** Finds out whether the service keeps runs: then it refuses a run that it does not have with a problem of its own. */
  async findOut(signal: AbortSignal): Promise<boolean> {
    if (this.keepsRuns !== undefined) return this.keepsRuns;
    const headers = { Accept: 'application/json' };
    const refusal = await this.#refusal(
      await this.#send({ method: 'GET', path: `/query/${randomUUID()}`, headers, signal }),
    );
    const { status, code } = refusal;
    if (isTransient(refusal)) throw refusal;
    return (this.keepsRuns ??= status === 404 && code === 'not_found');
  }

  /** Closes the connections that no run uses. */
  close(): void {
    this.#agent.destroy();
  }

  async #stream(call: Call): Promise<http.IncomingMessage> {
    const response = await this.#send(call);
    const { statusCode, headers } = response;
    const isPlain = (headers['content-encoding'] ?? 'identity') === 'identity';
    const isStream = isPlain && /^text\/event-stream\b/i.test(headers['content-type'] ?? '');
    if (statusCode !== 200 || !isStream) throw await this.#refusal(response);
    return response;
  }

  async #send({ method, path, headers, body, signal }: Call): Promise<http.IncomingMessage> {
    const { url, headers: configured } = this.settings;
    const content = await body?.open(undefined, signal);
    return new Promise((resolve, reject) => {
      const request = this.#client.request(`${url.origin}${url.pathname.replace(/\/$/, '')}${path}`, {
        method,
        headers: { ...configured, ...headers },
        // A connection that was used before may end at the moment of the request: only a service that keeps runs can be asked twice.
        agent: method === 'POST' && !this.keepsRuns ? false : this.#agent,
        signal,
      });
      request.on('socket', (socket) => socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS));
      request.on('response', (response) => {
        // Whoever reads the response gets its errors; one that nobody reads must not end the process.
        response.on('error', () => undefined);
        resolve(response);
      });
      request.on('error', (error) => reject(connectionLost(error.message, error)));
      // A response that switches the protocol is none, and ends the connection without an error.
      request.on('close', () => reject(connectionLost('The connection was closed before a response.')));
      if (content instanceof ReadableStream) pipeline(Readable.fromWeb(content), request, () => undefined);
      else request.end(content);
    });
  }

  /** Reads a response that is not what was asked for. */
  async #refusal(response: http.IncomingMessage): Promise<AgentQueryError> {
    const { statusCode = 0, headers } = response;
    const text = await textOf(response);
    const isProblem = /^application\/problem\+json\b/i.test(headers['content-type'] ?? '');
    const refusal = refusalOf(statusCode, isProblem ? text : '', headers['retry-after'] ?? null);
    const shown = withoutSecrets(text, Object.values(this.settings.headers)).slice(0, 2_000);
    refusal.cause = new Error(`The remote service answered ${statusCode}: ${shown}`);
    return refusal;
  }
}

async function textOf(response: http.IncomingMessage): Promise<string> {
  const timer = setTimeout(() => response.destroy(), READ_MS);
  const chunks = response.iterator() as AsyncIterator<Uint8Array, undefined>;
  const cancel = async () => void response.destroy();
  return beginningOf({ read: () => chunks.next(), cancel }).finally(() => clearTimeout(timer));
}
