import { randomUUID } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import { pipeline, Readable } from 'node:stream';
import { Cut } from './cut.js';
import { refusalOf } from './refusal.js';
import type { RemoteSettings } from './remote-options.js';
import type { RequestBody } from './request-body.js';

const EVENT_STREAM = 'text/event-stream';

/** After so much silence the system asks whether the other machine is still there. A silent agent is no fault. */
const TCP_KEEP_ALIVE_MS = 30_000;

/** A request without what every request has. */
interface Call {
  method: 'POST' | 'GET' | 'DELETE';
  path: string;
  headers?: http.OutgoingHttpHeaders;
  body?: RequestBody;
  signal: AbortSignal;
}

/** The remote service: its calls, each with one response. Redirects are not followed. */
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
    body: RequestBody,
    headers: http.OutgoingHttpHeaders,
    signal: AbortSignal,
  ): Promise<http.IncomingMessage> {
    return this.#send({
      method: 'POST',
      path: '/query',
      headers: {
        Accept: EVENT_STREAM,
        'Content-Type': 'application/json',
        'Content-Length': body.length,
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
    return this.#send({
      method: 'GET',
      path: `/query/${runId}`,
      headers: { Accept: EVENT_STREAM, 'Last-Event-ID': `${runId}.${seq}`, ...headers },
      signal,
    });
  }

  /** Downloads a file of a run from a byte on. */
  file(
    runId: string,
    sha256: string,
    offset: number,
    headers: http.OutgoingHttpHeaders,
    signal: AbortSignal,
  ): Promise<http.IncomingMessage> {
    return this.#send({
      method: 'GET',
      path: `/query/${runId}/files/${sha256}`,
      headers: { ...(offset > 0 && { Range: `bytes=${offset}-` }), ...headers },
      signal,
    });
  }

  /** Asks for the end of a run, and returns the status of the response. */
  async cancel(runId: string, signal: AbortSignal): Promise<number> {
    const response = await this.#send({ method: 'DELETE', path: `/query/${runId}`, signal });
    response.on('error', () => undefined).resume();
    return response.statusCode!;
  }

  /**
   * Finds out whether the service keeps runs: then it refuses a run that it does not have with a problem of its own.
   *
   * @throws {Cut} it does not answer
   */
  async findOut(signal: AbortSignal): Promise<boolean> {
    if (this.keepsRuns !== undefined) return this.keepsRuns;
    const headers = { Accept: 'application/json' };
    const { status, code } = await this.refusal(
      await this.#send({ method: 'GET', path: `/query/${randomUUID()}`, headers, signal }),
    );
    return (this.keepsRuns ??= status === 404 && code === 'not_found');
  }

  /** Reads a response that is no stream. */
  refusal(response: http.IncomingMessage): ReturnType<typeof refusalOf> {
    return refusalOf(response, (text) => this.#withoutSecrets(text));
  }

  /** Closes the connections that no run uses. */
  close(): void {
    this.#agent.destroy();
  }

  #send({ method, path, headers, body, signal }: Call): Promise<http.IncomingMessage> {
    const { url, headers: configured } = this.settings;
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
      request.on('error', (error) => reject(new Cut(error)));
      if (body) pipeline(Readable.from(body.bytes(), { objectMode: false }), request, () => undefined);
      else request.end();
    });
  }

  #withoutSecrets(text: string): string {
    return Object.values(this.settings.headers)
      .filter((value) => value !== '')
      .reduce((cleaned, value) => cleaned.replaceAll(value, '***'), text);
  }
}
