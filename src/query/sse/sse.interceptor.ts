import {
  type BeforeApplicationShutdown,
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  type OnModuleInit,
  StreamableFile,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { RunView } from 'nest-agent-query-client';
import { concatMap, from, of, type Observable } from 'rxjs';
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
  turnOf,
} from '../platform/host.js';
import { heldLength, piecesOf } from '../platform/write-json.js';
import { acceptsEventStream } from './accept.js';
import { holdAnswer } from './answer-memory.js';
import { IDLE_TICKS, SseResponse } from './sse-response.js';
import { EnvelopeForm, type StreamForm } from './stream-form.js';
import { EventStream } from './streams-envelopes.js';
import { joinedPieces, writePieces, WRITTEN_LENGTH } from './write-pieces.js';

/** At shutdown, when clients have had their time to read: how long it may take to end the streams that are left. */
const DISCONNECTING_MS = 500;

/**
 * How long clients wait before they ask again, in milliseconds, where a stream is empty because its run has ended: a day. Those that
 * repeat a `POST` after each end, as an `EventSource` does with a `GET`, would ask for ever.
 */
const NOTHING_FOLLOWS_RETRY_MS = 24 * 60 * 60 * 1_000;

/** In place of the answer to a request whose connection was closed before its turn. */
const NO_ANSWER = Symbol('no answer');

/** Writes what routes return: streams as Server-Sent Events (WHATWG HTML §9.2), values as JSON, files as they are. */
@Injectable()
export class SseInterceptor implements NestInterceptor, OnModuleInit, BeforeApplicationShutdown {
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

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const [request, response] = [http.getRequest<HostRequest>(), http.getResponse<HostResponse>()];
    this.connections.serve(response);
    const turn = turnOf(request, response);
    const answers: Observable<unknown> = turn
      ? from(turn).pipe(concatMap((isTurn) => (isTurn ? next.handle() : of(NO_ANSWER))))
      : next.handle();
    return answers.pipe(
      concatMap(async (answer: unknown) => {
        if (answer instanceof EventStream) await this.#stream(answer, request, response);
        else if (answer !== NO_ANSWER) await this.#send(answer, response);
        markAnswered(response);
      }),
    );
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
    const { run, hasAll, follow, read } = await RunStream.from(stream.envelopes).admitted;
    const raw = takeResponse(response);
    const form = stream.form ?? this.#envelopeForm(request, run, hasAll);
    form.log = read;
    const sse = new SseResponse(raw, form, this.settings.streams, this.clock);
    const follower = follow(sse);
    sse.follower = follower;
    if (hasLeft(raw)) return void follower.leave();
    raw.once('close', () => {
      this.#open.delete(sse);
      sse.closed();
      follower.leave();
      if (this.#open.size === 0) this.#onAllClosed?.();
    });
    this.#keepAlive(sse);
    sse.open(form.headers(run));
    follower.notify();
  }

  #envelopeForm(request: HostRequest, run: RunView | undefined, hasAll: boolean): StreamForm {
    const named = run && { id: run.id, path: pathOfRun(requestPath(request), run.id) };
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
