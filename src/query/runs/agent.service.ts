import { Buffer } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
} from '@nestjs/common';
import { Spool } from '../files/spool.js';
import { settlesWithin } from '../platform/deadline.js';
import { queryDigest, storedParts } from './digest.js';
import { INTERRUPTED } from '../contract/envelopes.js';
import { QueryError } from '../contract/errors.js';
import { runNotFound, sessionNotFound } from '../contract/refusals.js';
import { Files, OpenedFiles } from '../files/files.js';
import { Follower, type ReadableLog } from '../event-log/follower.js';
import { AgentHandler, type Query } from '../ports/agent-handler.js';
import {
  type Admission,
  type Awaitable,
  type LogSlice,
  type RunRef,
  type RunRecord,
  RunStore,
  type StoredRun,
} from '../ports/run-store.js';
import {
  MODULE_OPTIONS_TOKEN,
  RUN_DEFAULTS,
  type QueryModuleOptions,
  type RunOptions,
} from '../options/query.options.js';
import { type FollowedRun, RunStream } from '../event-log/run-stream.js';
import { Runner, type RunnerContext } from './runner.js';
import { type Load, Scheduler } from './scheduler.js';
import type { RunView, SessionPage } from '../contract/wire.js';

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

/** When the service goes down: how long the store may take to record the ends of runs. */
const STORE_DEADLINE_MS = 2_000;

/**
 * The door that every protocol uses: admits queries as runs, lets them be followed and cancelled, and keeps the house in
 * order while the process lives and when it goes down.
 */
@Injectable()
export class AgentService
  implements OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown, RunnerContext
{
  readonly options: RunOptions;
  readonly files: Files;
  readonly #runners: Scheduler;
  /** Runs of processes that are gone, while their files are fetched. */
  readonly #resuming = new Map<string, { isFirst: boolean }>();
  #draining = false;
  #drained: Promise<void> | undefined;

  constructor(
    readonly store: RunStore,
    readonly handler: AgentHandler,
    @Inject(MODULE_OPTIONS_TOKEN) options: QueryModuleOptions,
    spool: Spool,
  ) {
    this.files = new Files(store.files, spool);
    this.options = { ...RUN_DEFAULTS, ...options.runs };
    this.#runners = new Scheduler(this.options.maxRunning);
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
    return new RunStream(this.#find(owner, runId).then((record) => this.#followedFrom(record, after)));
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
    const ending = await runner?.ended;
    const run = ending?.run ?? (await this.#find(owner, runId));
    return { run: viewOf(run), stopped: run.end !== undefined && (ending?.stopped ?? true) };
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
    if (!page) throw sessionNotFound();
    return { id: sessionId, turns: page.turns, next: page.last < page.total ? page.last : null };
  }

  /**
   * Erases a session: its unfinished runs are cancelled, then its turns, runs, logs and files are gone.
   *
   * @throws {QueryError} `not_found` · `session_busy`: a query came in while it was being erased
   */
  async erase(owner: string, sessionId: string): Promise<void> {
    const line = await this.store.queue(owner, sessionId);
    // From the end of the line, so that none is called up only to be cancelled.
    await Promise.all(line.reverse().map(({ id }) => this.cancel(owner, id)));
    if (!(await this.store.erase(owner, sessionId))) throw sessionNotFound();
  }

  /** What the service is doing at present. */
  load(): Load {
    return this.#runners.load();
  }

  /**
   * Whether new queries are taken at present.
   *
   * @throws {QueryError} why they are not: `draining` · `unavailable`
   */
  async check(): Promise<void> {
    if (this.#draining) throw draining();
    await this.store.check();
  }

  /** Takes up what processes that are gone have left in the store. */
  async onApplicationBootstrap(): Promise<void> {
    await this.store.recover((stored) => void this.#resume(stored));
  }

  /** Gives up the store, when nobody follows any more. */
  async onApplicationShutdown(): Promise<void> {
    await this.store.close();
  }

  /** Takes no new queries, gives the runs that there are `runs.drainMs` to end, and then ends them. */
  onModuleDestroy(): Promise<void> {
    return (this.#drained ??= this.#drain());
  }

  /** Part of `RunnerContext`: a run has ended. */
  onEnd(runner: Runner, next: RunRecord | undefined): void {
    this.#runners.remove(runner);
    const promoted = next && this.#runners.get(next.id);
    if (promoted) {
      // The store may say so before it says that it has admitted the run.
      promoted.enter(next);
      this.#runners.dispatch(promoted);
    } else if (next) {
      const resuming = this.#resuming.get(next.id);
      if (resuming) resuming.isFirst = true;
    }
    this.#runners.fill();
  }

  /** Part of `RunnerContext`: a handler goes on after its run's end, or has stopped at last. */
  onOverdue(change: 1 | -1): void {
    this.#runners.count(change);
  }

  async #admit(query: Query, options: QueryOptions): Promise<FollowedRun> {
    const { owner = ANONYMOUS, detached, release = () => undefined } = options;
    let runner: Runner | undefined;
    let keeping = false;
    try {
      const admission = this.#admission(query, owner, options.idempotencyKey);
      const named = { id: admission.runId, owner, sessionId: admission.session?.id };
      const disconnect = detached ? 'continue' : this.options.disconnect;
      // Before the store has it, so that whatever happens to the run meanwhile finds its runner.
      runner = new Runner(this, named, query, disconnect, release);
      this.#runners.add(runner);
      keeping = this.#keepsFiles(admission) && (await this.files.keep(runner.id, query));
      const admitted = this.store.admit(admission);
      const { run, created, ahead: before } = admitted instanceof Promise ? await admitted : admitted;
      if (keeping && !created) void this.files.release(runner.id);
      if (created) {
        this.#enter(runner, run, before);
        return this.#followed(run, 0);
      }
      this.#dismiss(runner);
      if (detached) this.#runners.get(run.id)?.detach();
      return await this.#followedFrom(run, 0);
    } catch (error) {
      if (keeping) void this.files.release(runner!.id);
      if (runner) this.#dismiss(runner);
      else release();
      throw error;
    }
  }

  /** Whether somebody else than the run's handler, here and now, may have to read the files of a query. */
  #keepsFiles({ session, refusal }: Admission): boolean {
    if (refusal) return false;
    return session !== undefined || (this.store.durable && this.#runners.isFull);
  }

  async #resume({ run, parts, kwargs, isFirst }: StoredRun): Promise<void> {
    const known = this.#runners.get(run.id);
    if (known) return this.#runners.dispatch(known);
    const resuming = { isFirst };
    this.#resuming.set(run.id, resuming);
    const opened = new OpenedFiles();
    const query: Query = { parts: [], kwargs };
    let failure: unknown;
    try {
      query.parts = await this.files.restore(run.id, parts, opened);
    } catch (error) {
      failure = error;
    }
    this.#resuming.delete(run.id);
    if (this.#runners.isClosed) return opened.close();
    const runner = new Runner(this, run, query, 'continue', () => opened.close());
    this.#runners.add(runner);
    runner.enter(run);
    if (failure !== undefined) runner.fail(failure);
    else if (resuming.isFirst) this.#runners.dispatch(runner);
  }

  #admission(query: Query, owner: string, idempotencyKey: string | undefined): Admission {
    const { sessionPolicy: policy, maxWaitingPerSession: maxWaiting } = this.options;
    const sessionId = query.kwargs['session_id'];
    return {
      runId: newRunId(),
      owner,
      parts: storedParts(query),
      kwargs: query.kwargs,
      session:
        typeof sessionId === 'string' && sessionId !== '' ? { id: sessionId, policy, maxWaiting } : undefined,
      idempotency:
        idempotencyKey === undefined ? undefined : { key: idempotencyKey, digest: queryDigest(query) },
      ...this.#refusals(),
    };
  }

  #refusals(): Pick<Admission, 'refusal' | 'refusalIfQueued'> {
    if (this.#draining) {
      return { refusal: draining(), refusalIfQueued: undefined };
    }
    const { maxRunning, maxWaiting } = this.options;
    const { running, waiting } = this.#runners;
    const isFull = running + waiting >= maxRunning + maxWaiting;
    const isLineFull = waiting >= maxWaiting;
    if (!isFull && !isLineFull) return { refusal: undefined, refusalIfQueued: undefined };
    const detail = `${running} runs are under way and ${waiting} are waiting, as many as may. Try again later.`;
    const atCapacity = new QueryError('at_capacity', detail, { retryAfter: 5 });
    return { refusal: isFull ? atCapacity : undefined, refusalIfQueued: atCapacity };
  }

  #enter(runner: Runner, run: RunRecord, before: RunRecord[]): void {
    // What stood before it has ended meanwhile, and has called it up.
    if (runner.entered) return;
    runner.enter(run);
    if (before.length === 0) return this.#runners.dispatch(runner);
    runner.announce(`Waiting in line: ${before.length} of the session's queries come first.`);
    if (this.options.sessionPolicy === 'interrupt') {
      for (const { id } of before.reverse()) this.#runners.get(id)?.stop({ status: 'cancelled' });
    }
  }

  #dismiss(runner: Runner): void {
    this.#runners.remove(runner);
    runner.dismiss();
  }

  async #find(owner: string, runId: string): Promise<RunRecord> {
    const record = await this.store.find(owner, runId);
    if (!record) throw runNotFound();
    return record;
  }

  /** A run from a cursor on that may lie before what is still kept: who asks is told before the stream begins. */
  async #followedFrom(record: RunRecord, after: number): Promise<FollowedRun> {
    if (after > record.lastSeq) {
      const detail = `The cursor ${after} lies after the newest envelope of the run, which is ${record.lastSeq}.`;
      throw new QueryError('invalid_query', detail);
    }
    await this.store.read(record, after);
    return this.#followed(record, after);
  }

  #followed(record: RunRecord, after: number): FollowedRun {
    const log = new RunLog(this.store, record);
    return {
      run: viewOf(record),
      follow: (sink) => new Follower(log, after, sink, this.#runners.get(record.id)?.followers),
    };
  }

  async #drain(): Promise<void> {
    this.#draining = true;
    const idle = this.#runners.idle();
    if (await settlesWithin(this.options.drainMs, idle)) return;

    this.#runners.close();
    // What a durable store has in line is executed after the next start.
    for (const runner of this.#runners.all()) {
      if (this.#runners.isRunning(runner) || !this.store.durable) runner.stop(INTERRUPTED);
      else this.#dismiss(runner);
    }
    await settlesWithin(this.options.stopDeadlineMs + STORE_DEADLINE_MS, idle);
    for (const runner of this.#runners.all()) this.#dismiss(runner);
  }
}

/** The log of a run in a store. */
class RunLog implements ReadableLog {
  constructor(
    private readonly store: RunStore,
    private readonly run: RunRef,
  ) {}

  read(after: number): Awaitable<LogSlice> {
    return this.store.read(this.run, after);
  }
}

/** Copied, because as long as it is kept the text that `randomUUID` returns is a tree of the pieces that it was made of. */
function newRunId(): string {
  return Buffer.from(randomUUID()).toString('latin1');
}

function draining(): QueryError {
  const detail = 'The service is going down and takes no new queries. Try again in a moment.';
  return new QueryError('draining', detail, { retryAfter: 1 });
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
