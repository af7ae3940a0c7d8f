import type { IncomingMessage } from 'node:http';
import { addAbortSignal } from 'node:stream';
import type { Logger } from '@nestjs/common';
import { AgentQueryError } from 'nest-agent-query-client';
import { EventReader, isTransient, type StreamEvent } from 'nest-agent-query-client/streams';
import { type Envelope, HandedOver, log, type Query, type QueryContext } from '../../query/index.js';
import {
  cutForGood,
  failed,
  invalidEnvelope,
  isFinal,
  mayBeExecuted,
  mayHaveBegun,
  notResumed,
  notSubmitted,
} from './failures.js';
import { remoteFile } from './remote-file.js';
import { answerThere, askHere } from './remote-inputs.js';
import { type Position, RemoteLog } from './remote-log.js';
import { remoteQuery } from './remote-query.js';
import type { RemoteService } from './remote-service.js';
import { patientRetries, repeated } from './repeated.js';
import { traceHeaders } from './trace-headers.js';

/** How often the position in the remote log is stored while envelopes come. */
const CHECKPOINT_MS = 500;

/** How long a remote run is asked to stop. */
const CANCEL_MS = 30_000;

/** How long the response to a query is waited for when the run must stop: it names the remote run. */
const NAME_MS = 1_000;

const BLANK_LINE = Buffer.from('\n\n');

/** An attempt of one run: sends its query, or resumes the remote run that an earlier attempt has begun. */
export class RemoteRun {
  /** The log of the remote run; of none until the service has named it. */
  #log = new RemoteLog(undefined);
  /** The response that is read. */
  #response: IncomingMessage | undefined;
  #storedAt = 0;
  /** The tries to resume the remote run since its last event. */
  readonly #retries = patientRetries();
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
      for (;;) {
        const event = await this.#next(reader);
        if (!event) {
          if (this.#log.id === undefined) return;
          reader = await this.#resume();
          continue;
        }
        const envelope = this.#log.take(event);
        if (this.#log.hasEnded) return;
        if (!envelope) continue;
        if (envelope.type === 'input_required') {
          reader.leave();
          reader = yield* this.#ask(envelope);
          continue;
        }
        yield envelope.type === 'file' ? this.#file(envelope) : envelope;
        if (performance.now() - this.#storedAt >= CHECKPOINT_MS) await this.#store();
      }
    } finally {
      if (this.#log.hasEnded) reader?.finish();
      else reader?.leave();
      // Its events may have no numbers, whatever its headers say.
      if (reader && this.#log.id === undefined) this.service.keepsRuns = false;
      if (this.context.signal.aborted) await this.#cancel();
    }
  }

  #file(envelope: Envelope): Envelope {
    return remoteFile(envelope, this.service, this.#log.id, this.#headers, this.context.signal);
  }

  /** Asks here what the remote run asks, and answers it there. Returns what goes on after that. */
  async *#ask({ data }: Envelope): AsyncGenerator<Envelope, EventReader> {
    const { service, context } = this;
    const { position, seq } = this.#log;
    if (!position) throw failed('The remote agent asks something, but has no way to be answered.');
    const answers = await askHere(context, data, { ...position, seq: seq - 1 });
    if (answers.length === 0) return this.#resume();
    const inputs = { service, runId: position.run, seq, headers: this.#headers };
    const response = await answerThere(inputs, answers, context.signal);
    if (response) return this.#readerOf(response);
    yield log('The remote agent had its answer already, and goes on with that one.');
    return this.#resume();
  }

  async #begin(): Promise<EventReader> {
    const { resumed, signal } = this.context;
    const position = resumed?.state as Position | undefined;
    if (position) {
      this.#log = new RemoteLog(position.run, position);
      this.service.keepsRuns = true;
      return this.#resume();
    }
    const giveUpAt = performance.now() + this.service.patienceMs;
    // The earlier attempt may have sent the query.
    if (resumed && !(await this.#keepsRuns(giveUpAt))) throw mayBeExecuted();
    return repeated(() => this.#submit(giveUpAt), { signal, failureOf: notSubmitted, giveUpAt });
  }

  /** Sends the query once. @throws what is no `AgentQueryError`, where the query must not be sent again */
  async #submit(giveUpAt: number): Promise<EventReader> {
    let response: IncomingMessage;
    try {
      response = await this.#send();
    } catch (error) {
      this.context.signal.throwIfAborted();
      if (!(error instanceof AgentQueryError) || isFinal(error) || !mayHaveBegun(error)) throw error;
      const isRefused = error.status !== undefined;
      const isKept = isRefused ? this.service.keepsRuns : await this.#keepsRuns(giveUpAt);
      if (!isKept) throw isRefused ? notSubmitted(error) : cutForGood(error);
      throw error;
    }
    // A proxy may have changed the path; the last segment is the run.
    const id = /(?:^|\/)([\w-]{1,100})$/.exec(response.headers['content-location'] ?? '')?.[1];
    this.#log = new RemoteLog(id);
    this.service.keepsRuns = id !== undefined;
    const reader = this.#readerOf(response);
    if (id !== undefined && !this.context.signal.aborted) await this.#store();
    return reader;
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
      return await this.service.submit(remoteQuery(this.query, owner), headers, sending.signal);
    } finally {
      signal.removeEventListener('abort', stop);
      clearTimeout(timer);
    }
  }

  /** Follows the remote run from where it was cut, for as long as this run may last. */
  async #resume(): Promise<EventReader> {
    const { signal } = this.context;
    const follow = () => this.service.follow(this.#log.id!, this.#log.seq, this.#headers, signal);
    return this.#readerOf(await repeated(follow, { signal, failureOf: notResumed, retries: this.#retries }));
  }

  #readerOf(response: IncomingMessage): EventReader {
    this.#response = addAbortSignal(this.context.signal, response);
    const bytes = this.#bytesOf(response);
    const cancel = async () => void response.destroy();
    return new EventReader({ read: async () => bytes.next(), cancel }, undefined, 0);
  }

  /** A service that keeps no runs may leave out the blank line after its last event. */
  async *#bytesOf(response: IncomingMessage): AsyncGenerator<Uint8Array, undefined> {
    yield* response as AsyncIterable<Uint8Array>;
    if (this.#log.id === undefined) yield BLANK_LINE;
  }

  /** The next event; undefined at the end of the response, or where it was cut and can be resumed. */
  async #next(reader: EventReader): Promise<StreamEvent | undefined> {
    const { signal, runId } = this.context;
    try {
      const event = await reader.next();
      this.#retries.attempt = 0;
      return event;
    } catch (error) {
      signal.throwIfAborted();
      if (!isTransient(error))
        throw invalidEnvelope('The remote agent sent an event that is too long.', error);
      if (this.#log.id === undefined) {
        if (this.#response!.complete) return undefined;
        throw cutForGood(error);
      }
      reader.leave();
      // A service ends the response in order when its run has asked for some time.
      if (!this.#response!.complete)
        this.logger.warn(`Run ${runId}: the connection to the remote agent was cut, and is resumed.`);
      await this.#retries.wait(error, 0, signal);
      return undefined;
    }
  }

  async #store(): Promise<void> {
    this.#storedAt = performance.now();
    const { position } = this.#log;
    if (position) await this.context.checkpoint(position);
  }

  #keepsRuns(giveUpAt: number): Promise<boolean> {
    const { signal } = this.context;
    return repeated(() => this.service.findOut(signal), { signal, failureOf: notSubmitted, giveUpAt });
  }

  /** Ends the remote run, unless the next attempt continues it. Returns when its handler has stopped. */
  async #cancel(): Promise<void> {
    const { id, hasEnded } = this.#log;
    if (id === undefined || hasEnded || this.context.signal.reason instanceof HandedOver) return;
    const signal = AbortSignal.timeout(CANCEL_MS);
    const cancelling = repeated(() => this.service.cancel(id, signal), { signal, failureOf: notSubmitted });
    // What it says to the end of a run is of no use to the run.
    await cancelling.catch(() => undefined);
  }
}
