import { randomUUID } from 'node:crypto';
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { queryDigest, storedParts } from './digest.js';
import { INTERRUPTED } from './envelopes.js';
import { QueryError } from './errors.js';
import { Follower } from './follower.js';
import { AgentHandler, type Query } from './ports/agent-handler.js';
import { RunStore, type Admission, type RunRecord } from './ports/run-store.js';
import {
  MODULE_OPTIONS_TOKEN,
  RUN_DEFAULTS,
  type QueryModuleOptions,
  type RunOptions,
} from './query.options.js';
import { type FollowedRun, RunStream } from './run-stream.js';
import { Runner, type RunnerContext } from './runner.js';
import type { RunView, SessionPage } from './wire.js';

/** The owner of everything where the host has no authentication. */
export const ANONYMOUS = 'anonymous';

/** How a query is to be admitted. */
export interface QueryOptions {
  /** Whose the run is. Default `anonymous`. */
  owner?: string;
  /** A repeated query with the same key finds the run that the first one made. */
  idempotencyKey?: string | undefined;
  /** The run goes on when nobody follows it, whatever the disconnect policy says. Default false. */
  detached?: boolean;
  /** Called once, when the run no longer needs the query's files, or is not made at all. */
  release?: () => void;
}

/** What the service is doing at present. */
export interface Load {
  /** Runs whose handler has been called. */
  running: number;
  /** Runs in the line of their session or of the service. */
  waiting: number;
  followers: number;
  /** Handlers that go on although their run has ended. */
  overdue: number;
}

/**
 * The door that every protocol uses: admits queries as runs, lets them be followed and cancelled, and keeps the house in
 * order while the process lives and when it goes down.
 */
@Injectable()
export class AgentService implements OnModuleDestroy, RunnerContext {
  readonly options: RunOptions;
  readonly #runners = new Map<string, Runner>();
  /** Runners that may start as soon as there is a place. */
  readonly #ready = new Set<Runner>();
  readonly #running = new Set<Runner>();
  #overdue = 0;
  #draining = false;
  #idle: (() => void) | undefined;

  constructor(
    readonly store: RunStore,
    readonly handler: AgentHandler,
    @Inject(MODULE_OPTIONS_TOKEN) options: QueryModuleOptions,
  ) {
    this.options = { ...RUN_DEFAULTS, ...options.runs };
  }

  /**
   * Admits a query as a run and returns the Observable of its envelopes. The run exists, and its handler is called,
   * whether or not anybody subscribes; what is returned only follows its log.
   *
   * The Observable fails with a `QueryError` where the query is not admitted: `session_busy`, `session_full`,
   * `idempotency_conflict`, `at_capacity`, `draining`.
   */
  query(query: Query, options: QueryOptions = {}): RunStream {
    return new RunStream(this.#admit(query, options));
  }

  /**
   * Follows a run from a cursor on: what is in its log already, then what comes. The Observable fails with a
   * `QueryError`: `not_found` where the owner has no such run, `cursor_expired` where the log no longer has what follows
   * the cursor, `invalid_query` where the cursor lies after the newest envelope.
   *
   * @param after the number of the last envelope that the caller has; 0 is none
   */
  follow(owner: string, runId: string, after = 0): RunStream {
    return new RunStream(this.#find(owner, runId).then((record) => this.#followed(record, after)));
  }

  /** @throws {QueryError} `not_found` */
  async find(owner: string, runId: string): Promise<RunView> {
    return viewOf(await this.#find(owner, runId));
  }

  /**
   * Cancels a run, and waits until its handler has really stopped or `runs.stopDeadlineMs` have passed. A run that has
   * ended is left as it is.
   *
   * @returns the run, and whether its handler has stopped
   * @throws {QueryError} `not_found`
   */
  async cancel(owner: string, runId: string): Promise<{ run: RunView; stopped: boolean }> {
    await this.#find(owner, runId);
    const runner = this.#runners.get(runId);
    runner?.stop({ status: 'cancelled' });
    const stopped = runner ? await runner.ended : true;
    return { run: await this.find(owner, runId), stopped };
  }

  /**
   * A page of a session's turns, oldest first.
   *
   * @param after how many turns to pass over
   * @param limit how many turns at most
   * @throws {QueryError} `not_found`
   */
  async session(owner: string, sessionId: string, after: number, limit: number): Promise<SessionPage> {
    const page = await this.store.turns(owner, sessionId, { after, limit });
    if (!page) throw noSession();
    return { id: sessionId, turns: page.turns, next: page.last < page.total ? page.last : null };
  }

  /**
   * Erases a session: its unfinished runs are cancelled, then its turns, runs, logs and files are gone.
   *
   * @throws {QueryError} `not_found` · `session_busy`: a query came in while it was being erased
   */
  async erase(owner: string, sessionId: string): Promise<void> {
    const line = await this.store.line(owner, sessionId);
    // From the end of the line, so that none is called up only to be cancelled.
    await Promise.all(line.reverse().map(({ id }) => this.cancel(owner, id)));
    if (!(await this.store.erase(owner, sessionId))) throw noSession();
  }

  /** What the service is doing at present. */
  load(): Load {
    let followers = 0;
    for (const runner of this.#runners.values()) followers += runner.audience.size;
    const running = this.#running.size;
    return { running, waiting: this.#runners.size - running, followers, overdue: this.#overdue };
  }

  /** Takes no new queries, gives the runs that there are `runs.drainMs` to end, and then ends them. */
  async onModuleDestroy(): Promise<void> {
    this.#draining = true;
    if (this.#runners.size === 0) return;
    const idle = new Promise<void>((resolve) => (this.#idle = resolve));
    let timer: NodeJS.Timeout;
    const late = new Promise<'late'>(
      (resolve) => (timer = setTimeout(resolve, this.options.drainMs, 'late')),
    );
    if ((await Promise.race([idle, late])) === 'late') await this.#interrupt();
    clearTimeout(timer!);
  }

  /** Part of `RunnerContext`: a run has ended. */
  onEnd(runner: Runner, next: RunRecord | undefined): void {
    this.#runners.delete(runner.record.id);
    this.#running.delete(runner);
    this.#ready.delete(runner);
    const promoted = next && this.#runners.get(next.id);
    if (promoted) this.#dispatch(promoted);
    for (const ready of this.#ready) {
      if (this.#running.size >= this.options.maxRunning) break;
      this.#ready.delete(ready);
      this.#start(ready);
    }
    if (this.#runners.size === 0) this.#idle?.();
  }

  /** Part of `RunnerContext`: a handler goes on after its run's end, or has stopped at last. */
  onOverdue(change: 1 | -1): void {
    this.#overdue += change;
  }

  async #admit(query: Query, options: QueryOptions): Promise<FollowedRun> {
    const release = options.release ?? (() => undefined);
    try {
      const admission = this.#admission(query, options);
      const admitted = this.store.admit(admission);
      const { run, created, before } = admitted instanceof Promise ? await admitted : admitted;
      if (created) this.#enter(run, before, query, options.detached ?? false, release);
      else release();
      return this.#followed(run, 0);
    } catch (error) {
      release();
      throw error;
    }
  }

  #admission(query: Query, { owner = ANONYMOUS, idempotencyKey }: QueryOptions): Admission {
    const { sessionPolicy: policy, maxWaitingPerSession: maxWaiting } = this.options;
    const sessionId = query.kwargs['session_id'];
    return {
      runId: randomUUID(),
      owner,
      parts: storedParts(query),
      kwargs: query.kwargs,
      session:
        typeof sessionId === 'string' && sessionId !== '' ? { id: sessionId, policy, maxWaiting } : undefined,
      idempotency:
        idempotencyKey === undefined ? undefined : { key: idempotencyKey, digest: queryDigest(query) },
      refusal: this.#refusal(),
      refusalInLine: undefined,
    };
  }

  #refusal(): QueryError | undefined {
    if (this.#draining) {
      const detail = 'The service is going down and takes no new queries. Try again in a moment.';
      return new QueryError('draining', detail, { retryAfter: 1 });
    }
    const running = this.#running.size;
    const waiting = this.#runners.size - running;
    if (running < this.options.maxRunning || waiting < this.options.maxWaiting) return undefined;
    const detail = `${running} runs are under way and ${waiting} are waiting, as many as may. Try again later.`;
    return new QueryError('at_capacity', detail, { retryAfter: 5 });
  }

  #enter(record: RunRecord, before: RunRecord[], query: Query, detached: boolean, release: () => void): void {
    const disconnect = detached ? 'continue' : this.options.disconnect;
    const runner = new Runner(this, record, query, disconnect, release);
    this.#runners.set(record.id, runner);
    for (const notice of mismatches(query)) runner.announce(notice);
    if (before.length === 0) return this.#dispatch(runner);
    runner.announce(`Waiting in line: ${before.length} of the session's queries come first.`);
    if (this.options.sessionPolicy === 'interrupt') {
      for (const { id } of before.reverse()) this.#runners.get(id)?.stop({ status: 'cancelled' });
    }
  }

  #dispatch(runner: Runner): void {
    if (this.#running.size < this.options.maxRunning) return this.#start(runner);
    this.#ready.add(runner);
    runner.announce(`Waiting for a place: ${this.#running.size} runs are under way, as many as may.`);
  }

  #start(runner: Runner): void {
    this.#running.add(runner);
    void runner.start();
  }

  async #find(owner: string, runId: string): Promise<RunRecord> {
    const record = await this.store.find(owner, runId);
    if (!record) throw new QueryError('not_found', 'There is no such run, or it is no longer kept.');
    return record;
  }

  #followed(record: RunRecord, after: number): FollowedRun {
    if (after > record.lastSeq) {
      const detail = `The cursor ${after} lies after the newest envelope of the run, which is ${record.lastSeq}.`;
      throw new QueryError('invalid_query', detail);
    }
    const { id, owner } = record;
    const read = (seq: number) => this.store.read(owner, id, seq);
    return {
      run: viewOf(record),
      follow: (sink) => new Follower(read, after, sink, this.#runners.get(id)?.audience),
    };
  }

  /** Time has run out: what goes on is ended, unless a durable store will execute it after the next start. */
  async #interrupt(): Promise<void> {
    const runners = [...this.#runners.values()].filter(
      (runner) => this.#running.has(runner) || !this.store.durable,
    );
    // From the youngest on, so that no session's next run is called up only to be ended.
    for (const runner of runners.reverse()) runner.stop(INTERRUPTED);
    await Promise.all(runners.map((runner) => runner.ended));
    for (const runner of this.#runners.values()) runner.audience.cut();
  }
}

function mismatches({ parts }: Query): string[] {
  return parts.flatMap((part) =>
    part.type === 'file' && part.detectedMimeType !== undefined
      ? [`"${part.name}" is said to be ${part.mimeType}, but its bytes are ${part.detectedMimeType}.`]
      : [],
  );
}

function noSession(): QueryError {
  return new QueryError('not_found', 'There is no such session, or it is no longer kept.');
}

function viewOf(record: RunRecord): RunView {
  const time = (at: number | undefined) => (at === undefined ? null : new Date(at).toISOString());
  return {
    id: record.id,
    status: record.status,
    session: record.sessionId ?? null,
    createdAt: new Date(record.createdAt).toISOString(),
    startedAt: time(record.startedAt),
    endedAt: time(record.endedAt),
    events: record.lastSeq,
    ...(record.end?.status === 'failed' && { error: record.end.error }),
  };
}
