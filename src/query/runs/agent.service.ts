import { Inject, Injectable, Optional } from '@nestjs/common';
import type { Logger, OnApplicationBootstrap, OnApplicationShutdown, OnModuleDestroy } from '@nestjs/common';
import type {
  RunList,
  RunView,
  SessionList,
  SessionPage,
  SessionView,
  Turn,
  UsageList,
} from 'nest-agent-query-client';
import { refusalOf } from '../contract/errors.js';
import { sessionNotFound } from '../contract/refusals.js';
import { type FollowedRun, RunStream } from '../event-log/run-stream.js';
import { Spool } from '../files/spool.js';
import { Settings } from '../options/settings.js';
import { Clock } from '../platform/clock.js';
import { Connections } from '../platform/connections.js';
import { settlesWithin } from '../platform/deadline.js';
import { loggerOf } from '../platform/module-logger.js';
import type { AgentHandler, Query } from '../ports/agent-handler.js';
import { type NumberedTurn, type RunRecord, RunStore } from '../ports/run-store.js';
import { storedOwner } from '../sharing/owners.js';
import { Admissions, ANONYMOUS, draining, type QueryOptions } from './admissions.js';
import { Deliveries } from './deliveries.js';
import { type EndedRunList, endedRunList, type EndedRunListOptions } from './ended-run-list.js';
import { Inputs } from './inputs.js';
import { observed, Observers } from './observers.js';
import { Processes } from './processes.js';
import { RunHandler } from './run-handler.js';
import { RunnerServices } from './runner-services.js';
import { Scheduler, STORE_DEADLINE_MS } from './scheduler.js';
import { SentFiles } from './sent-files.js';
import { newRunId, sessionIdOf } from './submitted-query.js';
import { type DownloadedFile, downloadOf } from './downloads.js';
import { follow, followAfter } from './following.js';
import {
  LIST_OPTIONS,
  type ListOptions,
  listPageOf,
  nextOf,
  RUN_LIST_OPTIONS,
  type RunListOptions,
} from './lists.js';
import type { Load, SpoolUse, Totals } from './load.js';
import { existingRun, partsOf, viewOf } from './run-view.js';
import { sessionPage, sessionViewOf } from './session-view.js';
import { usageList, type UsageListOptions } from './usage-list.js';
import { textForLog } from '../platform/text-for-log.js';
import { refuseUnknown } from '../contract/unknown-members.js';

export { ANONYMOUS };
export type {
  DownloadedFile,
  ListOptions,
  Load,
  QueryOptions,
  RunListOptions,
  SpoolUse,
  Totals,
  UsageListOptions,
};

/** How long the followers of a run may take to read its end before its session is erased. */
const END_READING_MS = 1_000;

/**
 * The API of runs: every protocol and every host submits, follows and cancels runs here.
 *
 * @example
 * class ReportService {
 *   constructor(private readonly agent: AgentService) {}
 *
 *   report(text: string): Observable<Envelope> {
 *     return this.agent.query({ parts: [{ type: 'text', text }], kwargs: {} });
 *   }
 * }
 */
@Injectable()
export class AgentService implements OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  /** What runs ask, and the answers. */
  readonly inputs: Inputs;
  /** Files that callers send before their query. */
  readonly sentFiles: SentFiles;
  /** The webhooks of runs. */
  readonly deliveries: Deliveries;
  readonly #services: RunnerServices;
  readonly #scheduler: Scheduler;
  readonly #processes: Processes;
  readonly #admissions: Admissions;
  readonly #logger: Logger;
  #drained: Promise<void> | undefined;

  constructor(
    private readonly store: RunStore,
    @Inject(RunHandler) handler: AgentHandler,
    private readonly settings: Settings,
    private readonly spool: Spool,
    clock: Clock,
    @Optional() private readonly observers: Observers = new Observers([]),
    @Optional() private readonly connections?: Connections,
  ) {
    this.#services = new RunnerServices(store, handler, settings, clock, observers, spool);
    this.#scheduler = new Scheduler(this.#services);
    this.#processes = new Processes(this.#services, this.#scheduler);
    this.#admissions = new Admissions(this.#services, this.#scheduler, this.#processes);
    this.deliveries = new Deliveries(this.#services);
    this.inputs = new Inputs(this.#services, this.#processes);
    this.sentFiles = new SentFiles(this.#services, () => this.#admissions.isDraining);
    this.#logger = loggerOf('AgentService', settings.name);
  }

  /**
   * Admits a query as a run and returns the Observable of its envelopes. The run executes whether or not anybody subscribes;
   * the Observable only follows its log.
   *
   * The Observable fails with a `QueryError` if the query is not admitted: `invalid_query` (the option `kwargs`, or `afterTurn`),
   * `session_busy`, `session_full`, `idempotency_conflict`, `rate_limited`, `budget_exceeded`, `at_capacity`, `draining`, `unavailable`,
   * `storage_full`, or what the option `admit` throws. It fails with a `TypeError` if an option is unknown.
   *
   * @param query kwargs as a caller would send them: values that JSON can hold
   */
  query(query: Query, options: QueryOptions = {}): RunStream {
    return new RunStream(this.#admit(query, options));
  }

  /**
   * Follows a run: the envelopes after the cursor that are in its log, then new ones as they come. The Observable fails with a
   * `QueryError`: `not_found` if the owner has no such run, `cursor_expired` if the log no longer has what follows the cursor,
   * `invalid_query` if the cursor is greater than the number of the newest envelope.
   *
   * @param owner the owner of the run; `anonymous` without authentication
   * @param runId the id of the run
   * @param after the number of the last envelope that the caller has; 0 for none. Default 0
   * @param options the request of the caller, for its trace. Default: none
   * @throws {TypeError} an option is unknown
   */
  follow(owner: string, runId: string, after = 0, options: Pick<QueryOptions, 'request'> = {}): RunStream {
    refuseUnknown('AgentService.follow', options, { request: true });
    const { request } = options;
    const find = () => this.#find(owner, runId);
    const followRun = (run: RunRecord) => followAfter(this.#services, run, after);
    return new RunStream(this.#services.traces.resumed(after, request, find, followRun));
  }

  /** @throws {QueryError} `not_found` · `unavailable` */
  async find(owner: string, runId: string): Promise<RunView> {
    return viewOf(await this.#find(owner, runId));
  }

  /**
   * Lists the runs of an owner, newest first, in pages. A caller who reads all pages gets each run that exists throughout
   * exactly once, whatever runs come and go meanwhile. A page has at most 8 Mi characters of JSON, but at least one run.
   *
   * @param options which runs, and which page of them. Default: the newest 50 runs
   * @throws {QueryError} `invalid_query`: `after` is not the `next` of a page · `unavailable` · {TypeError} an option is unknown
   */
  async runs(owner: string, options: RunListOptions = {}): Promise<RunList> {
    refuseUnknown('AgentService.runs', options, RUN_LIST_OPTIONS);
    const { session: sessionId, status, metadata } = options;
    const { runs, next } = await this.store.runs(this.#stored(owner), {
      ...listPageOf(options),
      sessionId,
      status,
      metadata,
    });
    return { runs: runs.map(viewOf), next: nextOf(next) };
  }

  /**
   * Lists the runs of an owner that have ended, those that ended last first, in pages, and counts them. Unfinished runs are in
   * `runs`, by their status.
   *
   * @param options which runs, and which page of them. Default: the 50 runs that ended last
   * @throws {QueryError} `unavailable` · {TypeError} an option is unknown, or `since` or `after` is no time
   *
   * @example
   * const { runs, total } = await agent.endedRuns(owner, { status: 'failed', limit: 10 });
   * const second = await agent.endedRuns(owner, { status: 'failed', limit: 10, after: runs.at(-1) });
   */
  endedRuns(owner: string, options: EndedRunListOptions = {}): Promise<EndedRunList> {
    return endedRunList(this.store, this.#stored(owner), options);
  }

  /**
   * Lists the sessions of an owner, last used first, in pages; also those whose first run has not ended. A session that is used
   * between two pages moves to the beginning. A page has at most 8 Mi characters of JSON, but at least one session.
   *
   * @param options which page. Default: the 50 sessions that were used last
   * @throws {QueryError} `invalid_query`: `after` is not the `next` of a page · `unavailable` · {TypeError} an option is unknown
   */
  async sessions(owner: string, options: ListOptions = {}): Promise<SessionList> {
    refuseUnknown('AgentService.sessions', options, LIST_OPTIONS);
    const { sessions, next } = await this.store.sessions(this.#stored(owner), listPageOf(options));
    return { sessions: sessions.map(sessionViewOf), next: nextOf(next) };
  }

  /**
   * Adds up what the models have used for an owner, in pages: last used first.
   *
   * @param options what is added up, and which page of it. Default: by day, since the first day of this month
   * @throws {QueryError} `invalid_query`: `after` is not the `next` of a page · `unavailable` · {TypeError} an option is unknown
   */
  usage(owner: string, options: UsageListOptions = {}): Promise<UsageList> {
    return usageList(this.store, this.settings, this.#stored(owner), options);
  }

  /**
   * Cancels a run, and waits until its handler has really stopped or `runs.stopDeadlineMs` have passed. A run that has ended
   * stays as it is.
   *
   * @returns the run, and whether its handler has stopped
   * @throws {QueryError} `not_found` · `unavailable`
   */
  async cancel(owner: string, runId: string): Promise<{ run: RunView; stopped: boolean }> {
    const { run, stopped } = await this.#processes.cancel(await this.#find(owner, runId));
    return { run: viewOf(run), stopped };
  }

  /**
   * Returns a page of a session's turns, oldest first, with the run that executes, if there is one, and how many runs wait. A
   * session has no turns until its first run has ended. A page has at most 8 Mi characters of JSON, but at least one turn.
   * Texts over 64 KiB are cut.
   *
   * @param after how many turns to skip
   * @param limit how many turns the page has at most
   * @throws {QueryError} `not_found` · `unavailable`
   */
  async session(owner: string, sessionId: string, after: number, limit: number): Promise<SessionPage> {
    return sessionPage(this.store, this.#stored(owner), sessionId, after, limit);
  }

  /**
   * Returns a file of a query or of its answer, or a text that a page of turns shows cut.
   *
   * @param runId the run of the query
   * @param sha256 the digest of the content
   * @throws {QueryError} `not_found`: the owner has no such run and no turn of it, or it has no such file · `unavailable`
   */
  async file(owner: string, runId: string, sha256: string): Promise<DownloadedFile> {
    return downloadOf(this.store, this.#services.files, this.#stored(owner), runId, sha256);
  }

  /**
   * Makes a session that begins with the first turns of another one, and goes its own way from there. Files are shared: they are
   * kept until neither has them. A run that has not ended stays with the session that it belongs to.
   *
   * @param afterTurn how many turns the new session has: from 0 to the number of the newest turn
   * @param newId the id of the new session. Default: a random one
   * @throws {QueryError} `not_found` · `session_exists`: the owner has a session with this id · `invalid_query`: the session has
   * fewer turns, or the store cannot fork · `unavailable`
   */
  async fork(
    owner: string,
    sessionId: string,
    afterTurn: number,
    newId: string = newRunId(),
  ): Promise<SessionView> {
    const session = await this.store.fork(this.#stored(owner), { sessionId, afterTurn, newId });
    if (!session) throw sessionNotFound();
    return sessionViewOf(session);
  }

  /**
   * Makes an empty session.
   *
   * @param newId its id. Default: a random one
   * @throws {QueryError} `session_exists`: the owner has a session with this id · `invalid_query`: the store cannot · `unavailable`
   */
  async createSession(owner: string, newId: string = newRunId()): Promise<SessionView> {
    const made = await this.store.fork(this.#stored(owner), { sessionId: undefined, afterTurn: 0, newId });
    return sessionViewOf(made!);
  }

  /**
   * Returns the turn of a run in a session, with the number of the turn, from 1. Texts over 64 KiB are cut. A fork has the turns of
   * the session that it was made from.
   *
   * @returns undefined if the session has no such turn: the run has not ended, belongs to another session, or is no longer kept
   * @throws {QueryError} `not_found`: the owner has no such session · `unavailable`
   */
  async turn(owner: string, sessionId: string, runId: string): Promise<NumberedTurn | undefined> {
    const stored = this.#stored(owner);
    const found = await this.store.turn(stored, sessionId, runId);
    if (!found && !(await this.store.turns(stored, sessionId, { after: 0, limit: 1 })))
      throw sessionNotFound();
    return found;
  }

  /**
   * Returns the parts of the query of a run, after the earlier texts that its caller has sent along; files without their contents. Texts
   * over 64 KiB of a run that has ended are cut.
   *
   * @returns undefined if they are no longer kept: those of a run that has ended are in the turn of its session
   * @throws {QueryError} `not_found`: the owner has no such run · `unavailable`
   */
  async parts(owner: string, runId: string): Promise<Turn['parts'] | undefined> {
    return partsOf(this.store, await this.#find(owner, runId));
  }

  /**
   * Erases a session: cancels its unfinished runs, then deletes its turns, runs, logs and files, and tells the handler.
   *
   * @throws {QueryError} `not_found` · `session_busy`: a new query of the session came meanwhile · `unavailable`
   */
  async erase(owner: string, sessionId: string): Promise<void> {
    const stored = this.#stored(owner);
    await this.#processes.cancelAll(await this.store.queue(stored, sessionId));
    // The followers read the end before the log is erased.
    await settlesWithin(END_READING_MS, this.#services.groups.emptied(stored, sessionId));
    if (!(await this.store.erase(stored, sessionId))) throw sessionNotFound();
    await this.#services.tellErased({ owner, id: sessionId });
  }

  /** Returns the present load of this process. */
  load(): Load {
    return this.#scheduler.load();
  }

  /** Returns what this process has done since its start. */
  totals(): Totals {
    const { envelopes, length } = this.observers.emitted;
    return { envelopes, length, files: this.spool.received.files, fileBytes: this.spool.received.bytes };
  }

  /** Returns the temporary files of this process. */
  spoolUse(): SpoolUse {
    return { files: this.spool.files, bytes: this.spool.usedBytes };
  }

  /**
   * Returns how many characters of JSON the logs have that the store keeps. In a database that processes share: of all runs
   * that have ended, and of those that this process executes. Undefined if the store does not know.
   *
   * @throws {QueryError} `unavailable`
   */
  async logLength(): Promise<number | undefined> {
    return this.store.logLength();
  }

  /**
   * Resolves if the service takes new queries.
   *
   * @throws {QueryError} why it does not: `draining` · `unavailable`
   */
  async check(): Promise<void> {
    if (this.#admissions.isDraining) throw draining();
    await this.store.check();
  }

  /** Recovers the runs of processes that are gone, and begins to listen to the other processes. */
  async onApplicationBootstrap(): Promise<void> {
    await this.#processes.join();
    this.deliveries.start();
  }

  /** Drains: the server stops listening, runs have `runs.drainMs` to end, and are then stopped or handed over. */
  onModuleDestroy(): Promise<void> {
    return (this.#drained ??= this.#drain());
  }

  /** Closes the store, after all followers have gone. A store that does not close in time is left behind. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.deliveries.close(), this.#services.schemas.close()]);
    const warn = (why: string) => this.#logger.warn(`The store was not closed${why}`);
    const closing = Promise.all([this.store.close(), this.#services.contents?.close()]);
    const closed = closing.catch((error: Error) => warn(`: ${textForLog(error.message)}`));
    if (!(await settlesWithin(STORE_DEADLINE_MS, closed))) warn(` within ${STORE_DEADLINE_MS} ms.`);
  }

  async #drain(): Promise<void> {
    this.#admissions.isDraining = true;
    // Here, because Nest calls the hooks of what this service injects after its own.
    this.connections?.stopListening();
    await this.#scheduler.drain();
    await this.#services.dispatcher.close();
    this.#services.groups.disconnectElsewhere();
  }

  async #admit(query: Query, options: QueryOptions): Promise<FollowedRun> {
    const { observers } = this;
    try {
      const { run, created } = await this.#admissions.admit(query, options);
      if (created) return follow(this.#services, run, 0);
      const followed = await followAfter(this.#services, run, 0);
      observers.tell('repeated', () => ({ run: observed(run) }));
      return followed;
    } catch (error) {
      const { owner = ANONYMOUS, request } = options;
      observers.tellRefusedQuery(request, { ...refusalOf(error), owner, sessionId: sessionIdOf(query) });
      throw error;
    }
  }

  #find(owner: string, runId: string): Promise<RunRecord> {
    return existingRun(this.store, this.#stored(owner), runId);
  }

  /** The owner as the store has it: modules that share a store have owners of their own. */
  #stored(owner: string): string {
    return storedOwner(this.settings.name, owner);
  }
}
