import type { IncomingMessage } from 'node:http';
import type { Logger } from '@nestjs/common';
import { type Envelope, HandedOver, type Query, type QueryContext, QueryError } from '../../query/index.js';
import { Cut } from './cut.js';
import { EventReader, isStream } from './event-reader.js';
import { cutForGood, mayBeExecuted, notResumed, unreachable } from './failures.js';
import { remoteFile } from './remote-file.js';
import { type Position, RemoteLog } from './remote-log.js';
import type { RemoteService } from './remote-service.js';
import { RequestBody } from './request-body.js';
import { isTransient } from './refusal.js';
import { retryAfterMs, waitBefore } from './waiting.js';

/** How often the position in the remote log is stored while envelopes come. */
const CHECKPOINT_MS = 500;

/** How long a remote run is asked to stop. */
const CANCEL_MS = 30_000;

/** How long the response to a query is waited for when the run must stop: it names the remote run. */
const NAME_MS = 1_000;

/** An attempt of one run: sends its query, or resumes the remote run that an earlier attempt has begun. */
export class RemoteRun {
  /** The log of the remote run; of none until the service has named it. */
  #log = new RemoteLog(undefined);
  #storedAt = 0;
  readonly #headers: Record<string, string>;

  constructor(
    private readonly service: RemoteService,
    private readonly query: Query,
    private readonly context: QueryContext,
    private readonly logger: Logger,
  ) {
    this.#headers = traceHeaders(context.trace);
  }

  /** The envelopes of the remote run, each once. */
  async *envelopes(): AsyncGenerator<Envelope> {
    let reader: EventReader | undefined;
    try {
      reader = await this.#begin();
      for (let cuts = 0; ; reader = await this.#resume(++cuts)) {
        for (;;) {
          const events = await this.#next(reader);
          if (!events) break;
          if (events.length > 0) cuts = 0;
          for (const event of events) {
            const envelope = this.#log.take(event);
            if (this.#log.hasEnded) return;
            if (!envelope) continue;
            yield envelope.type === 'file' ? this.#file(envelope) : envelope;
            if (performance.now() - this.#storedAt >= CHECKPOINT_MS) await this.#store();
          }
        }
        if (this.#log.id === undefined) return;
      }
    } finally {
      reader?.leave(this.#log.hasEnded);
      // Its events may have no numbers, whatever its headers say.
      if (reader && this.#log.id === undefined) this.service.keepsRuns = false;
      if (this.context.signal.aborted) await this.#cancel();
    }
  }

  #file(envelope: Envelope): Envelope {
    return remoteFile(envelope, this.service, this.#log.id, this.#headers, this.context.signal);
  }

  async #begin(): Promise<EventReader> {
    const { resumed, signal } = this.context;
    const position = resumed?.state as Position | undefined;
    if (position) {
      this.#log = new RemoteLog(position.run, position);
      this.service.keepsRuns = true;
      return this.#resume(0);
    }
    const giveUpAt = performance.now() + this.service.patienceMs;
    // The earlier attempt may have sent the query.
    if (resumed && !(await this.#keepsRuns(giveUpAt))) throw mayBeExecuted();
    for (let tries = 1; ; tries += 1) {
      const failure = await this.#submit(giveUpAt);
      if (failure instanceof EventReader) return failure;
      if (performance.now() + failure.waitMs > giveUpAt) throw failure.error;
      await waitBefore(tries, failure.waitMs, signal);
    }
  }

  /** Sends the query once. Returns why another try may succeed, and throws why none can. */
  async #submit(giveUpAt: number): Promise<EventReader | { error: QueryError; waitMs: number }> {
    let response: IncomingMessage;
    try {
      response = await this.#send();
    } catch (error) {
      if (!(error instanceof Cut) || this.context.signal.aborted) throw error;
      if (error.isFinal) throw unreachable(error);
      if (error.isSent && !(await this.#keepsRuns(giveUpAt))) throw cutForGood(error);
      return { error: unreachable(error), waitMs: 0 };
    }
    if (isStream(response)) return this.#accept(response);
    const { status, error, retryAfterMs: waitMs } = await this.service.refusal(response);
    response.destroy();
    // A gateway does not know whether the service behind it has begun.
    const isSafe = status === 429 || status === 503 || this.service.keepsRuns === true;
    if (!isSafe || (status !== 429 && !isTransient(status))) throw error;
    return { error, waitMs };
  }

  /** Where the run must stop before the response names the remote run, that name is waited for. */
  async #send(): Promise<IncomingMessage> {
    const { signal, runId, owner } = this.context;
    const sending = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const stop = () => {
      const waits = this.service.keepsRuns === false ? 0 : this.service.keepsRuns ? CANCEL_MS : NAME_MS;
      timer = setTimeout(() => sending.abort(), waits);
    };
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) sending.abort();
    try {
      const headers = { 'Idempotency-Key': `"${runId}"`, ...this.#headers };
      return await this.service.submit(new RequestBody(this.query, owner), headers, sending.signal);
    } finally {
      signal.removeEventListener('abort', stop);
      clearTimeout(timer);
    }
  }

  async #accept(response: IncomingMessage): Promise<EventReader> {
    const { signal } = this.context;
    // A proxy may have changed the path; the last segment is the run.
    const id = /(?:^|\/)([\w-]{1,100})$/.exec(response.headers['content-location'] ?? '')?.[1];
    this.#log = new RemoteLog(id);
    this.service.keepsRuns = id !== undefined;
    const reader = new EventReader(response, signal);
    if (id !== undefined && !signal.aborted) await this.#store();
    return reader;
  }

  /** Follows the remote run from where it was cut, for as long as this run may last. */
  async #resume(cuts: number): Promise<EventReader> {
    const { signal, runId } = this.context;
    if (cuts > 0) {
      this.logger.warn(`Run ${runId}: the connection to the remote agent was cut, and is resumed.`);
      await waitBefore(cuts, 0, signal);
    }
    for (let tries = 1; ; tries += 1) {
      let waitMs = 0;
      try {
        const response = await this.service.follow(this.#log.id!, this.#log.seq, this.#headers, signal);
        if (isStream(response)) return new EventReader(response, signal);
        waitMs = retryAfterMs(response.headers['retry-after']);
        const { status, error } = await this.service.refusal(response);
        if (status !== 429 && !isTransient(status)) throw notResumed(status, error.cause);
      } catch (error) {
        if (!(error instanceof Cut) || signal.aborted) throw error;
        if (error.isFinal) throw unreachable(error);
      }
      await waitBefore(tries, waitMs, signal);
    }
  }

  /** The next events; undefined at the end of the response, or where it was cut and can be resumed. */
  async #next(reader: EventReader): ReturnType<EventReader['next']> {
    try {
      return await reader.next(this.#log.id === undefined);
    } catch (error) {
      if (!(error instanceof Cut) || this.context.signal.aborted) throw error;
      reader.leave(false);
      if (this.#log.id === undefined) throw cutForGood(error);
      return undefined;
    }
  }

  async #store(): Promise<void> {
    this.#storedAt = performance.now();
    const { position } = this.#log;
    if (position) await this.context.checkpoint(position);
  }

  async #keepsRuns(giveUpAt: number): Promise<boolean> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.service.findOut(this.context.signal);
      } catch (error) {
        if (!(error instanceof Cut) || error.isFinal || performance.now() > giveUpAt)
          throw error instanceof Cut ? unreachable(error) : error;
      }
      await waitBefore(tries, 0, this.context.signal);
    }
  }

  /** Ends the remote run, unless the next attempt continues it. Returns when its handler has stopped. */
  async #cancel(): Promise<void> {
    if (this.#log.id === undefined || this.#log.hasEnded || this.context.signal.reason instanceof HandedOver)
      return;
    const limit = AbortSignal.timeout(CANCEL_MS);
    for (let tries = 1; !limit.aborted; tries += 1) {
      try {
        const status = await this.service.cancel(this.#log.id, limit);
        // 202: its handler has not stopped yet.
        if (status !== 202 && status !== 429 && !isTransient(status)) return;
        await waitBefore(tries, 0, limit);
      } catch (error) {
        if (error instanceof Cut && error.isFinal) return;
        await waitBefore(tries, 0, limit).catch(() => undefined);
      }
    }
  }
}

/** The headers of a trace (W3C Trace Context). */
function traceHeaders(trace: string | undefined): Record<string, string> {
  if (trace === undefined) return {};
  const [traceparent, tracestate] = trace.split(/ (.*)/s, 2);
  return { traceparent: traceparent!, ...(tracestate && { tracestate }) };
}
