import {
  type BeforeApplicationShutdown,
  type CallHandler,
  type ExecutionContext,
  Inject,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import Negotiator from 'negotiator';
import { concatMap, type Observable } from 'rxjs';
import { settlesWithin } from '../platform/deadline.js';
import { type HostRequest, type HostResponse, header, requestPath, takeResponse } from '../platform/host.js';
import {
  MODULE_OPTIONS_TOKEN,
  type QueryModuleOptions,
  STREAM_DEFAULTS,
  type StreamOptions,
} from '../options/query.options.js';
import { followed } from '../event-log/run-stream.js';
import { SseResponse } from './sse-response.js';
import type { Envelope } from '../contract/wire.js';

/** When the service goes down and all runs have ended: how long callers may take to read what they have not read yet. */
const READING_MS = 2_000;

/** … and how long it may take to tell those who have not. */
const CUTTING_MS = 500;

/** How often each stream is looked at within the time that it may be silent. */
const LOOKS = 10;

/** What a controller returns to have a stream of envelopes written. */
export class EventStream {
  /**
   * @param envelopes the stream; wrapped, because Nest would handle every emission of an Observable that it is given
   * @param isRunPath whether the request's path names the run already, as it does in `GET {base}/query/{runId}`
   */
  constructor(
    readonly envelopes: Observable<Envelope>,
    readonly isRunPath = false,
  ) {}
}

/**
 * Whether the request names `text/event-stream` among what it accepts, in any case of letters (RFC 9110 §8.3.1); a
 * wildcard does not name it.
 */
export function acceptsEventStream(request: HostRequest): boolean {
  const accept = header(request, 'accept')?.toLowerCase();
  if (accept === undefined || accept === '*/*') return false;
  return new Negotiator({ headers: { accept } }).mediaTypes().includes('text/event-stream');
}

/** Writes the streams of envelopes that a controller returns as Server-Sent Events; passes on everything else. */
@Injectable()
export class SseInterceptor implements NestInterceptor, BeforeApplicationShutdown {
  readonly #options: StreamOptions;
  readonly #open = new Set<SseResponse>();
  #pulse: NodeJS.Timeout | undefined;
  #onAllClosed: (() => void) | undefined;

  constructor(@Inject(MODULE_OPTIONS_TOKEN) options: QueryModuleOptions) {
    this.#options = { ...STREAM_DEFAULTS, ...options.streams };
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    return next.handle().pipe(
      concatMap(async (answer: unknown) => {
        if (!(answer instanceof EventStream)) return answer;
        await this.#write(answer, http.getRequest<HostRequest>(), http.getResponse<HostResponse>());
        return undefined;
      }),
    );
  }

  /** Lets those who read come to the end, and cuts the others: nobody keeps the process alive. */
  async beforeApplicationShutdown(): Promise<void> {
    if (!(await this.#closesWithin(READING_MS))) {
      for (const sse of this.#open) sse.follower?.disconnect();
      await this.#closesWithin(CUTTING_MS);
      for (const sse of this.#open) sse.destroy();
    }
    clearInterval(this.#pulse);
  }

  async #closesWithin(time: number): Promise<boolean> {
    if (this.#open.size === 0) return true;
    return settlesWithin(time, new Promise<void>((resolve) => (this.#onAllClosed = resolve)));
  }

  async #write(stream: EventStream, request: HostRequest, response: HostResponse): Promise<void> {
    const { run, follow } = await followed(stream.envelopes);
    const raw = takeResponse(response);
    const profile = acceptsEventStream(request) ? 'full' : 'plain';
    const sse = new SseResponse(raw, profile, run?.id, this.#options.retryMs);
    const follower = follow(sse);
    sse.follower = follower;
    if (raw.destroyed) return follower.leave();
    raw.once('close', () => {
      this.#open.delete(sse);
      follower.leave();
      if (this.#open.size === 0) this.#onAllClosed?.();
    });
    this.#keepAlive(sse);
    const path = requestPath(request);
    sse.open(run && (stream.isRunPath ? path : `${path}/${run.id}`));
    follower.notify();
  }

  /** One timer looks at all streams: no clock is asked with each write. */
  #keepAlive(sse: SseResponse): void {
    this.#open.add(sse);
    this.#pulse ??= setInterval(() => this.#beat(), Math.max(1, this.#options.keepAliveMs / LOOKS)).unref();
  }

  #beat(): void {
    for (const sse of this.#open) sse.look(LOOKS);
    if (this.#open.size > 0) return;
    clearInterval(this.#pulse);
    this.#pulse = undefined;
  }
}
