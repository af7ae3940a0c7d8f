import type {
  DeliveryView,
  InputAnswer,
  InputList,
  RunDeliveries,
  RunInputs,
  RunList,
  RunView,
  SessionList,
  SessionPage,
  SessionView,
  Turn,
  UsageList,
} from './wire/index.js';
import { type AgentQueryError, invalidResponse } from './agent-query-error.js';
import { Answer } from './answer.js';
import { type AgentQueryClientOptions, Connection } from './connection.js';
import type {
  AskOptions,
  CallOptions,
  PageOptions,
  ResumedSession,
  RunListOptions,
  UsageOptions,
} from './call-options.js';
import { type FollowOptions, LogReader } from './log-reader.js';
import { type InputPart, QueryBody } from './query-body.js';

/**
 * A client of one endpoint, for browsers, Node, Deno, Bun and workers.
 *
 * Requests that fail in a way that may pass (no connection; 429, 502, 503, 504) are tried again after a while: the time doubles with
 * each try, has a random part, and is at least what `Retry-After` asks for, up to 60 seconds. Every other refusal is thrown as
 * {@link AgentQueryError}.
 *
 * @example
 * const client = new AgentQueryClient({ baseUrl: 'http://127.0.0.1:3000' });
 * console.log(await client.ask('What is in this file?', { files: ['report.pdf'] }).text());
 */
export class AgentQueryClient {
  readonly #connection: Connection;

  constructor(options: AgentQueryClientOptions = {}) {
    this.#connection = new Connection(options);
  }

  /**
   * Sends a query, at once. Files are encoded while they are sent, and are not held in memory.
   *
   * @param textOrParts the text of the query, or its parts
   * @throws {TypeError} a file is of no known kind
   * @throws {AgentQueryError} `file_unreadable`: there is no file at a path. Every later fault is thrown by the answer
   */
  ask(textOrParts: string | readonly InputPart[], options: AskOptions = {}): Answer {
    const body = new QueryBody(textOrParts, options);
    // Pages without TLS have no `crypto.randomUUID`.
    const { idempotencyKey = crypto.getRandomValues(new Uint32Array(4)).join('-') } = options;
    const submission = { ...options, body, idempotencyKey };
    return new Answer(new LogReader(this.#connection, submission, 0, options), this);
  }

  /**
   * Follows a run. The first request is sent when something is read.
   *
   * @param after the number of the last envelope that is known; 0 (the default): from the first. `text()` and `result()` have only
   * what comes after it
   */
  follow(runId: string, after = 0, options: FollowOptions = {}): Answer {
    return new Answer(new LogReader(this.#connection, runId, after, options), this);
  }

  /** @returns the run as it is now */
  run(runId: string, options: CallOptions = {}): Promise<RunView> {
    return this.#connection.json('GET', options, runId);
  }

  /** Cancels a run. @returns the run, which has ended */
  cancel(runId: string, options: CallOptions = {}): Promise<RunView> {
    return this.#connection.json('DELETE', options, runId);
  }

  /**
   * Answers requests of a run that asks: all of these answers count, or none. The same answer again is accepted, so this is tried
   * again as a request for JSON. From then on, the run continues when nobody follows it. Whoever reads the answer of the run calls
   * `Answer.respond` instead.
   *
   * @param answers 1 to 64, each to another request. Others may be answered later
   * @returns the run as it is now
   * @throws {AgentQueryError} `invalid_answer`, with `errors` · `input_resolved`: somebody else was first, `problem.answers` says
   * how · `input_expired` · `run_ended` · `not_found`: no such run or request, or not this caller's to answer
   *
   * @example
   * await client.answer(runId, [{ id: 'refund-881', outcome: 'answered', value: { approved: true } }]);
   */
  answer(runId: string, answers: readonly InputAnswer[], { signal }: CallOptions = {}): Promise<RunView> {
    return this.#connection.json('POST', { signal, body: { answers } }, runId, 'inputs');
  }

  /**
   * Returns what a run has asked, in order, with what has become of it.
   *
   * @throws {AgentQueryError} `not_found`: no such run, or not this caller's to answer
   */
  inputs(runId: string, { signal }: CallOptions = {}): Promise<RunInputs> {
    return this.#connection.json('GET', { signal }, runId, 'inputs');
  }

  /** Lists the open requests of all runs of the caller, newest first. */
  openInputs(options: PageOptions = {}): Promise<InputList> {
    return this.#connection.json('GET', options, 'inputs');
  }

  /**
   * Returns the webhooks of a run, in the order of their events.
   *
   * @throws {AgentQueryError} `not_found`
   */
  deliveries(runId: string, { signal }: CallOptions = {}): Promise<RunDeliveries> {
    return this.#connection.json('GET', { signal }, runId, 'deliveries');
  }

  /**
   * Sends a webhook of a run again, whatever has become of it. Its endpoint is no longer disabled.
   *
   * @returns the delivery, which waits now
   * @throws {AgentQueryError} `not_found`: no such run or delivery, or its endpoint is not configured any more
   */
  sendAgain(runId: string, id: string, { signal }: CallOptions = {}): Promise<DeliveryView> {
    return this.#connection.json('POST', { signal }, runId, 'deliveries', id);
  }

  /** Lists the runs of the caller, newest first. */
  runs({ metadata = {}, ...options }: RunListOptions = {}): Promise<RunList> {
    const entries = Object.entries(metadata).map(([key, value]) => [`metadata.${key}`, value]);
    return this.#connection.json('GET', {
      ...options,
      ...(Object.fromEntries(entries) as Record<string, string>),
    });
  }

  /** Lists the sessions of the caller, last used first. */
  sessions(options: PageOptions = {}): Promise<SessionList> {
    return this.#connection.json('GET', options, 'sessions');
  }

  /** Adds up what the models have used for the caller, last used first. */
  usage(options: UsageOptions = {}): Promise<UsageList> {
    return this.#connection.json('GET', options, 'usage');
  }

  /** Returns turns of a session, oldest first; and the run to follow, if one executes. */
  session(sessionId: string, options: PageOptions<number> = {}): Promise<SessionPage> {
    return this.#connection.json('GET', options, 'sessions', sessionId);
  }

  /**
   * Returns all turns of a session, and the answer that goes on if one of its runs has not ended. If several have not, it is that of
   * the first: call it again when that answer has ended.
   *
   * @throws {AgentQueryError} `not_found`: the caller has no such session
   *
   * @example
   * const { turns, answer } = await client.resume('conversation-1');
   * for (const turn of turns) show(turn);
   * for await (const envelope of answer ?? []) show(envelope);
   */
  async resume(sessionId: string, options: FollowOptions = {}): Promise<ResumedSession> {
    const all = { signal: options.signal, limit: 500 };
    // First: a run that ends meanwhile is in the turns.
    const { runs } = await this.runs({ ...all, session: sessionId });
    const turns: Turn[] = [];
    let page: SessionPage | undefined;
    do {
      page = await this.session(sessionId, { ...all, after: page?.next ?? 0 });
      turns.push(...page.turns);
    } while (page.next);
    const run = runs.findLast(({ id, endedAt }) => !endedAt && !turns.some(({ runId }) => runId === id));
    return { turns, answer: run && this.follow(run.id, 0, options) };
  }

  /**
   * Makes a session that begins with the first turns of another one. Files are kept until neither has them. After a lost response
   * this is tried again: it then throws `session_exists` for a `newId`, or makes another session.
   *
   * @param afterTurn how many turns, from 0
   * @param options `newId` is the id of the new session. Default: a random one
   * @throws {AgentQueryError} `not_found` · `session_exists` · `invalid_query`: the session has fewer turns
   *
   * @example
   * const { id } = await client.fork('conversation-1', 2);
   * await client.ask('And in short?', { sessionId: id }).text();
   */
  fork(
    sessionId: string,
    afterTurn: number,
    { newId, signal }: CallOptions & { newId?: string | undefined } = {},
  ): Promise<SessionView> {
    const body = { afterTurn, session_id: newId };
    return this.#connection.json('POST', { signal, body }, 'sessions', sessionId, 'fork');
  }

  /**
   * Erases a session: cancels its runs, and removes turns, logs and files.
   *
   * @throws {AgentQueryError} `not_found` · `invalid_response`: something else than the service has answered
   */
  async erase(sessionId: string, { signal }: CallOptions = {}): Promise<void> {
    const url = this.#connection.url('sessions', sessionId);
    let isRepeated = false;
    try {
      const request = { method: 'DELETE', signal };
      await this.#connection.sendRepeatable(
        url,
        request,
        ({ status }) => {
          if (status !== 204) throw invalidResponse('The response is not 204.');
        },
        () => (isRepeated = true),
      );
    } catch (error) {
      // The response to the request before was lost, not the request.
      if (!isRepeated || (error as AgentQueryError).code !== 'not_found') throw error;
    }
  }

  /**
   * Reads a file of an answer or of a query.
   *
   * @param options `range` is a range of bytes (RFC 9110 §14.2), such as `bytes=0-9`
   * @returns the response; its body is the content
   */
  async file(
    runId: string,
    sha256: string,
    options: CallOptions & { range?: string | undefined } = {},
  ): Promise<Response> {
    const { signal, range } = options;
    const headers = range ? { Range: range } : undefined;
    const url = this.#connection.url(runId, 'files', sha256);
    return this.#connection.sendRepeatable(url, { headers, signal }, (response) => response);
  }
}
