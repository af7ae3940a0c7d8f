import type { Envelope, RunView } from './wire/index.js';
import { AskedRequests } from './asked-requests.js';
import { AgentQueryError, connectionLost, invalidResponse, isTransient } from './agent-query-error.js';
import { refusals } from './beginning-of.js';
import { type Connection, jsonOf, type RequestParts } from './connection.js';
import { EventReader, type StreamEvent } from './event-reader.js';
import type { LogEntry } from './log-entries.js';
import type { QueryBody } from './query-body.js';
import { type ResumeInfo, Retries } from './retries.js';
import { either } from './signals.js';

/** What both ways to read a log may be told. */
export interface FollowOptions {
  /** Leaves the run when it aborts: nothing more is read. The run is not cancelled by that. */
  signal?: AbortSignal | undefined;
  /** Is told before a request is tried again. */
  onResume?: ((info: ResumeInfo) => void) | undefined;
}

/** The query whose run is read. */
export interface Submission {
  body: QueryBody;
  idempotencyKey: string;
  afterTurn?: number | undefined;
  detached?: boolean | undefined;
  onUpload?: ((sentBytes: number, totalBytes: number | undefined) => void) | undefined;
}

/** What a request has led to: events; a run whose events have to be asked for; or the end of the log. */
type Opened = EventReader | 'admitted' | 'ended';

const STREAM = 'text/event-stream';

/** A stream that lasted for longer counts as progress, also without an envelope. */
const LASTING_MS = 20_000;

/**
 * Reads the event log of one run: each envelope once, in order, over as many connections as it takes.
 *
 * The query is sent with `POST`, again and again with the same idempotency key, until the id of the run is known. From then on,
 * each connection is a `GET` that goes on after the last envelope that was read. The log ends with `done`, or where the service
 * says that nothing will follow (204). A response that ends after a `retry:` of its own, because the run asks or the service stops,
 * has ended in order. Every other end of a response is a cut.
 */
export class LogReader {
  /** The number of the last envelope that was read. */
  after: number;
  /** Whether the log has no more envelopes. */
  isEnded = false;
  /** What the run asks, at the last envelope that was read. */
  readonly asked = new AskedRequests();
  /** Rejects if the query is not admitted. */
  readonly runId: Promise<string>;
  #runId: string | undefined;
  #admit!: (runId: string) => void;
  #refuse!: (error: unknown) => void;
  /** Whether no try is left to have the query admitted: `runId` has rejected. */
  #isGivenUp = false;
  /** Whether the service has refused the newest try of the query. */
  #isRefused = false;
  /** The response that is open or is being opened. */
  #opened: Promise<Opened> | undefined;
  #openedAt = 0;
  /** How many `retry:` lines this response has: the first one begins it, another one announces its end. */
  #retryLines = 0;
  readonly #retries: Retries;
  readonly #abort = new AbortController();
  readonly #signal: AbortSignal;

  constructor(
    private readonly connection: Connection,
    private readonly source: Submission | string,
    after: number,
    private readonly options: FollowOptions,
  ) {
    this.after = after;
    this.#retries = new Retries(connection.maxRetries);
    const own = this.#abort.signal;
    this.#signal = either(options.signal, own);
    this.runId = new Promise((resolve, reject) => {
      this.#admit = resolve;
      this.#refuse = reject;
    });
    // Whoever reads the log is told the same.
    this.runId.catch(() => undefined);
    if (typeof source === 'string') this.#admit((this.#runId = source));
    else this.#connect().catch(() => undefined);
  }

  /**
   * @returns the next entry; `undefined` at the end
   * @throws {AgentQueryError} the service refuses, or no retry is left · the reason of the signal
   */
  async next(): Promise<LogEntry | undefined> {
    while (!this.isEnded) {
      this.#signal.throwIfAborted();
      const events = await this.#connect();
      if (events === 'ended') break;
      if (events === 'admitted') {
        this.#opened = undefined;
        continue;
      }
      try {
        const entry = this.#entryOf(await events.next());
        if (entry.seq <= this.after) continue;
        if (entry.seq > this.after + 1) throw connectionLost(`Envelope ${this.after + 1} is missing.`);
        this.after = entry.seq;
        this.#retries.attempt = 0;
        this.asked.read(entry.envelope);
        if (entry.envelope.type === 'done') {
          this.isEnded = true;
          events.finish();
        }
        return entry;
      } catch (error) {
        this.leave();
        // A proxy may cut each connection after a while. That is no reason to give up a run that is silent for longer.
        if (Date.now() - this.#openedAt > LASTING_MS) this.#retries.attempt = 0;
        if (this.#retryLines > 1 && isTransient(error)) await this.#retries.pause(this.#signal);
        else await this.#wait(error);
      }
    }
    this.isEnded = true;
    return undefined;
  }

  /** Closes the connection. The next call of `next()` opens one again. */
  leave(): void {
    this.#opened?.then(
      (events) => events instanceof EventReader && events.leave(),
      () => undefined,
    );
    this.#opened = undefined;
  }

  /** The run goes on now: what waits for that looks at once. */
  hurry(): void {
    this.#retries.hurry();
  }

  /** Gives up a query that the service has not admitted. @returns whether it was still time for that */
  withdraw(): boolean {
    if (this.#runId !== undefined) return false;
    // A query that was sent whole may have been admitted, although no response has come.
    if ((this.source as Submission).body.isSent && !this.#isRefused) return false;
    if (!this.#isGivenUp) this.#abort.abort(new AgentQueryError('cancelled', 'The query was cancelled.'));
    return true;
  }

  /** Opens a response, unless one is open. */
  #connect(): Promise<Opened> {
    if (this.#isGivenUp) return this.runId as Promise<never>;
    if (!this.#opened) {
      this.#opened = this.#open();
      // What fails here is told to whoever asks for the next entry, and then tried again.
      this.#opened.catch(() => (this.#opened = undefined));
    }
    return this.#opened;
  }

  async #open(): Promise<Opened> {
    for (;;) {
      try {
        if (this.#runId !== undefined) return await this.#follow(this.#runId);
        return await this.#submit(this.source as Submission);
      } catch (error) {
        await this.#wait(error);
      }
    }
  }

  /** @throws the error, where another try is of no use; a query that was not admitted then stays refused */
  async #wait(error: unknown): Promise<void> {
    try {
      await this.#retries.wait(error, this.after, this.#signal, (info) => {
        if (this.#runId === undefined) (this.source as Submission).body.assertRepeatable(error);
        this.options.onResume?.(info);
      });
    } catch (final) {
      if (final instanceof AgentQueryError) final.runId = this.#runId;
      if (this.#runId === undefined) {
        this.#isGivenUp = true;
        this.#refuse(final);
      }
      throw final;
    }
  }

  async #submit(submission: Submission): Promise<Opened> {
    const { body, idempotencyKey, afterTurn, detached, onUpload } = submission;
    const headers: Record<string, string> = {
      'Content-Type': 'application/json',
      Accept: STREAM,
      'Idempotency-Key': idempotencyKey,
    };
    if (afterTurn !== undefined) headers['Session-After'] = String(afterTurn);
    if (detached) headers.Prefer = 'respond-async';
    await body.sendFiles(this.connection, this.#signal, onUpload);
    const content = await body.open(onUpload, this.#signal);
    this.#isRefused = false;
    const request = {
      method: 'POST',
      headers,
      body: content,
      signal: this.#signal,
      whenSent: body.whenSent,
    };
    try {
      if (onUpload && content instanceof Blob)
        return await this.#uploadAndFollow(request, (sent, total) => {
          body.isSent = sent === total;
          onUpload(sent, total);
        });
      return await this.connection.send(this.connection.url(), request, async (response) => {
        if (response.status === 202) {
          const { id } = await jsonOf<Partial<RunView>>(response);
          if (!id) throw invalidResponse('The response names no run.');
          this.#know(id);
          return 'admitted';
        }
        const events = await this.#read(response);
        this.#know(response.headers.get('Content-Location')?.split('/').at(-1));
        return events;
      });
    } catch (error) {
      body.stream?.leave();
      const failure = body.stream?.failure ?? error;
      this.#isRefused = failure instanceof AgentQueryError && failure.status !== undefined;
      // A file was dropped after it was sent.
      if ((failure as AgentQueryError).code === 'file_missing' && this.connection.takesFiles) {
        this.connection.takesFiles = false;
        body.forgetSent();
        return this.#submit(submission);
      }
      throw failure;
    }
  }

  /** Reads the run with another request, because what uploads with progress gives no stream of its response. */
  async #uploadAndFollow(
    request: RequestParts,
    onUpload: NonNullable<Submission['onUpload']>,
  ): Promise<Opened> {
    const { connection } = this;
    const { runIdOf, upload } = await import('./upload.js');
    const sent = await upload(connection, connection.url(), request, onUpload, runIdOf, refusals);
    try {
      this.#know(sent.value);
      return await this.#follow(sent.value);
    } finally {
      // Only now: a run may be cancelled when its last follower leaves.
      sent.close();
    }
  }

  async #follow(runId: string): Promise<Opened> {
    const headers: Record<string, string> = { Accept: STREAM };
    if (this.after > 0) headers['Last-Event-ID'] = `${runId}.${this.after}`;
    return this.connection.send(
      this.connection.url(runId),
      { headers, signal: this.#signal },
      async (response) => (response.status === 204 ? 'ended' : this.#read(response)),
    );
  }

  /** Browsers return a response whose headers were cut. Only bytes of its body prove that the headers are whole. */
  async #read(response: Response): Promise<EventReader> {
    this.#retryLines = 0;
    const setRetry = (ms: number) => {
      this.#retries.retryMs = ms;
      this.#retryLines += 1;
    };
    const { body, headers } = response;
    const events = body && new EventReader(body.getReader(), setRetry, this.connection.idleMs);
    await events?.readMore();
    if (!events || !headers.get('Content-Type')?.startsWith(STREAM))
      throw invalidResponse('The response is no event stream.');
    this.#retries.isAnswered = true;
    this.#openedAt = Date.now();
    return events;
  }

  #entryOf({ id, data }: StreamEvent): LogEntry {
    const [, runId, number] = /^(.+)\.([1-9]\d*)$/.exec(id ?? '') ?? [];
    if (!runId) throw invalidResponse('An event of the stream has no id.');
    this.#know(runId);
    try {
      return { seq: Number(number), envelope: JSON.parse(data) as Envelope };
    } catch (error) {
      throw invalidResponse('An event of the stream is not JSON.', error);
    }
  }

  #know(runId: string | undefined): void {
    if (!runId) return;
    this.#runId = runId;
    this.#admit(runId);
  }
}
