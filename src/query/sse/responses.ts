import type { ServerResponse } from 'node:http';
import {
  type BeforeApplicationShutdown,
  Injectable,
  type OnModuleInit,
  StreamableFile,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Envelope } from 'nest-agent-query-client';
import { isObservable, type Observable } from 'rxjs';
import { RunStream } from '../event-log/run-stream.js';
import { Settings } from '../options/settings.js';
import { Clock, type Timer } from '../platform/clock.js';
import { Connections } from '../platform/connections.js';
import { settlesWithin } from '../platform/deadline.js';
import {
  answerOnce,
  hasLeft,
  type HostRequest,
  type HostResponse,
  markAnswered,
  rawResponse,
  requestPath,
  takeResponse,
} from '../platform/host.js';
import { heldLength, piecesOf } from '../platform/write-json.js';
import { acceptsEventStream } from './accept.js';
import { holdAnswer } from './answer-memory.js';
import { IDLE_TICKS, SseResponse } from './sse-response.js';
import { EnvelopeForm, type StreamForm } from './stream-form.js';
import { EventStream } from './event-stream.js';
import { joinedPieces, writePieces, WRITTEN_LENGTH } from './write-pieces.js';

/** At shutdown, when clients have had their time to read: how long it may take to end the streams that are left. */
const DISCONNECTING_MS = 500;

/**
 * How long clients wait before they ask again, in milliseconds, where a stream is empty because its run has ended: a day. Those that
 * repeat a `POST` after each end, as an `EventSource` does with a `GET`, would ask for ever.
 */
const NOTHING_FOLLOWS_RETRY_MS = 24 * 60 * 60 * 1_000;

/** The envelopes that responses show. */
const shown = new WeakMap<ServerResponse, Observable<Envelope>>();

/**
 * Returns the envelopes that a response shows, for an interceptor; undefined before its stream begins, and for another answer. Who
 * subscribes follows the run too.
 */
export function envelopesOf(response: HostResponse): Observable<Envelope> | undefined {
  return shown.get(rawResponse(response));
}

/** Writes what routes return: streams as Server-Sent Events (WHATWG HTML §9.2), values as JSON, files as they are. */
@Injectable()
export class Responses implements OnModuleInit, BeforeApplicationShutdown {
  readonly #open = new Set<SseResponse>();
  #keepAliveTimer: Timer | undefined;
  #onAllClosed: (() => void) | undefined;

  constructor(
    private readonly connections: Connections,
    private readonly clock: Clock,
    private readonly adapterHost: HttpAdapterHost,
    private readonly settings: Settings,
  ) {}

  onModuleInit(): void {
    answerOnce((this.adapterHost as Partial<HttpAdapterHost>).httpAdapter);
  }

  /**
   * Writes what a route returns. Resolves when it is sent, or the stream has begun.
   *
   * @param answer an Observable of envelopes, an `EventStream`, a file, or a value that JSON can hold
   * @throws {QueryError} the query was not admitted, or its run was not found: nothing is sent
   */
  async write(answer: unknown, request: HostRequest, response: HostResponse): Promise<void> {
    if (answer instanceof EventStream) await this.#stream(answer, request, response);
    else if (isObservable(answer))
      await this.#stream(new EventStream(answer as Observable<Envelope>), request, response);
    else await this.#send(answer, response);
    markAnswered(response);
  }

  /** Lets callers finish what they send and read, disconnects those that take too long, and closes unused connections. */
  async beforeApplicationShutdown(): Promise<void> {
    if (!(await this.#closesWithin(this.connections.timeLeft))) {
      for (const sse of this.#open) sse.follower?.disconnect();
      await this.#closesWithin(DISCONNECTING_MS);
      for (const sse of this.#open) sse.destroy();
    }
    this.clock.stop(this.#keepAliveTimer);
    await this.connections.close();
  }

  async #stream(stream: EventStream, request: HostRequest, response: HostResponse): Promise<void> {
    const { runId, hasAll, follow, read } = await RunStream.from(stream.envelopes).admitted;
    const raw = rawResponse(response);
    const form = stream.form ?? this.#envelopeForm(request, runId, hasAll);
    form.log = read;
    const sse = new SseResponse(raw, form, this.settings.streams, this.clock);
    const follower = follow(sse);
    sse.follower = follower;
    // An interceptor of the host may have been faster, such as one with a time limit.
    if (hasLeft(raw) || raw.headersSent) return void follower.leave();
    takeResponse(response);
    shown.set(raw, stream.envelopes);
    raw.once('close', () => {
      this.#open.delete(sse);
      sse.closed();
      follower.leave();
      if (this.#open.size === 0) this.#onAllClosed?.();
    });
    this.#keepAlive(sse);
    sse.open(form.headers());
    follower.notify();
  }

  #envelopeForm(request: HostRequest, id: string | undefined, hasAll: boolean): StreamForm {
    const named = id === undefined ? undefined : { id, path: pathOfRun(requestPath(request), id) };
    const retryMs = hasAll ? NOTHING_FOLLOWS_RETRY_MS : this.settings.streams.retryMs;
    return new EnvelopeForm(acceptsEventStream(request), named, retryMs);
  }

  /** Ends a response whose status the route has set. */
  async #send(answer: unknown, response: HostResponse): Promise<void> {
    const isFile = answer instanceof StreamableFile;
    const isJson = answer !== undefined && !isFile;
    // An interceptor of the host may have been faster, such as one with a time limit.
    if (rawResponse(response).headersSent) {
      if (isFile) answer.getStream().destroy();
      return;
    }
    try {
      // The view of a protocol may have a type of JSON of its own.
      if (isJson && !response.hasHeader('content-type'))
        response.header('Content-Type', 'application/json; charset=utf-8');
      // A route sets the headers of a file itself, also where it says that the caller has the file already (304).
      if (!isFile && response.statusCode !== 304) response.header('Cache-Control', 'no-store');
      if (isJson) await this.#sendJson(answer, response);
      else this.adapterHost.httpAdapter.reply(response, answer);
    } catch (error) {
      if (isFile) answer.getStream().destroy();
      throw error;
    }
  }

  /**
   * Nest's `JSON.stringify` would hold the event loop for a page of turns, and a caller who does not read would have the whole text
   * wait in memory.
   */
  async #sendJson(answer: unknown, response: HostResponse): Promise<void> {
    holdAnswer(rawResponse(response), heldLength(answer));
    const texts = joinedPieces(piecesOf(answer));
    const { value: beginning } = (await texts.next()) as IteratorYieldResult<string>;
    if (rawResponse(response).headersSent) return;
    if (beginning.length < WRITTEN_LENGTH)
      return void this.adapterHost.httpAdapter.reply(response, beginning);
    const raw = takeResponse(response);
    raw.writeHead(response.statusCode);
    raw.write(beginning);
    await writePieces(raw, texts);
  }

  /** One timer serves all streams, so that no write has to ask for the time. */
  #keepAlive(sse: SseResponse): void {
    this.#open.add(sse);
    const tickMs = Math.max(1, this.settings.streams.keepAliveMs / IDLE_TICKS);
    this.#keepAliveTimer ??= this.clock.repeat('keepAliveMs', tickMs, () => this.#tick());
  }

  #tick(): void {
    for (const sse of this.#open) sse.keepAlive();
    if (this.#open.size > 0) return;
    this.clock.stop(this.#keepAliveTimer);
    this.#keepAliveTimer = undefined;
  }

  async #closesWithin(time: number): Promise<boolean> {
    if (this.#open.size === 0) return true;
    return settlesWithin(time, new Promise<void>((resolve) => (this.#onAllClosed = resolve)));
  }
}

/** `GET {base}/query/{runId}` and `POST {base}/query/{runId}/inputs` have the path of the run already. */
function pathOfRun(path: string, runId: string): string {
  const own = `/${runId}`;
  if (path.endsWith(`${own}/inputs`)) return path.slice(0, -'/inputs'.length);
  return path.endsWith(own) ? path : path + own;
}
