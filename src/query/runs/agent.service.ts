import { Inject, Injectable, Optional } from '@nestjs/common';
import type { Logger, OnApplicationBootstrap, OnApplicationShutdown, OnModuleDestroy } from '@nestjs/common';
import type { RunView } from 'nest-agent-query-client';
import { refusalOf } from '../contract/errors.js';
import { runNotFound, runOfSession, sessionNotFound } from '../contract/refusals.js';
import { type FollowedRun, RunStream } from '../event-log/run-stream.js';
import { Spool } from '../files/spool.js';
import { Settings } from '../options/settings.js';
import { Clock } from '../platform/clock.js';
import { Connections } from '../platform/connections.js';
import { settlesWithin } from '../platform/deadline.js';
import { loggerOf } from '../platform/module-logger.js';
import type { AgentHandler, Query } from '../ports/agent-handler.js';
import { type RunRecord, RunStore } from '../ports/run-store.js';
import { Admissions, draining } from './admissions.js';
import { Deliveries } from './deliveries.js';
import { Inputs } from './inputs.js';
import { observed, Observers } from './observers.js';
import { type ErasedOwner, eraseOwner } from './owner-erasure.js';
import { Processes } from './processes.js';
import { RunHandler } from './run-handler.js';
import { RunnerServices } from './runner-services.js';
import { Scheduler, STORE_DEADLINE_MS } from './scheduler.js';
import { SentFiles } from './sent-files.js';
import { ANONYMOUS, type QueryOptions, sessionIdOf } from './submitted-query.js';
import { type DownloadedFile, downloadOf } from './downloads.js';
import { follow, followAfter } from './following.js';
import type { ListOptions, RunListOptions } from './lists.js';
import type { Load, SpoolUse, Totals } from './load.js';
import { viewOf } from './run-view.js';
import { StoredRuns } from './stored-runs.js';
import type { UsageListOptions } from './usage-list.js';
import { textForLog } from '../platform/text-for-log.js';
import { refuseUnknown } from '../contract/unknown-members.js';

export { ANONYMOUS };
export type {
  DownloadedFile,
  ErasedOwner,
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
export class AgentService
  extends StoredRuns
  implements OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown
{
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
    store: RunStore,
    @Inject(RunHandler) handler: AgentHandler,
    settings: Settings,
    private readonly spool: Spool,
    clock: Clock,
    @Optional() private readonly observers: Observers = new Observers([]),
    @Optional() private readonly connections?: Connections,
  ) {
    super(store, settings);
    this.#services = new RunnerServices(store, handler, settings, clock, observers, spool);
    this.#scheduler = new Scheduler(this.#services);
    this.#processes = new Processes(this.#services, this.#scheduler);
    this.#admissions = new Admissions(this.#services, this.#scheduler, this.#processes, (request) =>
      this.#isDraining(request),
    );
    this.deliveries = new Deliveries(this.#services);
    this.inputs = new Inputs(this.#services, this.#processes);
    this.sentFiles = new SentFiles(this.#services, () => this.#isDraining());
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
    const find = () => this.record(owner, runId);
    const followRun = (run: RunRecord) => followAfter(this.#services, run, after);
    return new RunStream(this.#services.traces.resumed(after, request, find, followRun));
  }

  /**
   * Cancels a run, and waits until its handler has really stopped or `runs.stopDeadlineMs` have passed. A run that has ended
   * stays as it is.
   *
   * @returns the run, and whether its handler has stopped
   * @throws {QueryError} `not_found` · `unavailable`
   */
  async cancel(owner: string, runId: string): Promise<{ run: RunView; stopped: boolean }> {
    const { run, stopped } = await this.#processes.cancel(await this.record(owner, runId));
    return { run: viewOf(run), stopped };
  }

  /**
   * Returns a file of a query or of its answer, or a text that a page of turns shows cut.
   *
   * @param runId the run of the query
   * @param sha256 the digest of the content
   * @throws {QueryError} `not_found`: the owner has no such run and no turn of it, or it has no such file · `unavailable`
   */
  async file(owner: string, runId: string, sha256: string): Promise<DownloadedFile> {
    return downloadOf(this.store, this.#services.files, this.stored(owner), runId, sha256);
  }

  /**
   * Erases a session: cancels its unfinished runs, then deletes its turns, runs, logs and files, and tells the handler.
   *
   * @throws {QueryError} `not_found` · `session_busy`: a new query of the session came meanwhile · `unavailable`
   */
  async erase(owner: string, sessionId: string): Promise<void> {
    const stored = this.stored(owner);
    await this.#processes.cancelAll(await this.store.queue(stored, sessionId));
    // The followers read the end before the log is erased.
    await settlesWithin(END_READING_MS, this.#services.groups.emptied(stored, sessionId));
    if (!(await this.store.erase(stored, sessionId))) throw sessionNotFound();
    await this.#services.tellErased({ owner, id: sessionId });
  }

  /**
   * Erases a run that belongs to no session: cancels it unless it has ended, and deletes its log, files, requests and webhooks.
   * What it has used stays in the sums.
   *
   * @throws {QueryError} `not_found` · `invalid_query`: it belongs to a session, or the store cannot · `session_busy`: it has not
   * ended in time · `unavailable`
   */
  async eraseRun(owner: string, runId: string): Promise<void> {
    const run = await this.record(owner, runId);
    if (run.sessionId !== undefined) throw runOfSession(run.sessionId);
    await this.#processes.cancel(run);
    const read = this.#services.groups.get(runId)?.emptied();
    await settlesWithin(END_READING_MS, Promise.all([read, this.#services.files.settled(runId)]));
    if (!(await this.store.eraseRun(run.owner, runId))) throw runNotFound();
  }

  /**
   * Erases all that this module keeps of an owner: cancels the unfinished runs, deletes sessions, runs, files, uploads and usage,
   * and tells the handler of each session. Budgets of the owner begin anew. It may be repeated, also after a fault. Take the access
   * of the owner away before: what the owner sends meanwhile may be kept.
   *
   * @returns how much there was
   * @throws {QueryError} `session_busy`: a run has not ended in time, or a new one came meanwhile · `invalid_query`: the store
   * cannot · `unavailable`
   *
   * @example
   * const { runs, sessions } = await agent.eraseOwner('ann');
   */
  eraseOwner(owner: string): Promise<ErasedOwner> {
    return eraseOwner(this, this.store, owner, this.stored(owner));
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
   * Resolves if the service takes new queries.
   *
   * @throws {QueryError} why it does not: `draining` · `unavailable`
   */
  async check(): Promise<void> {
    if (this.#isDraining()) throw draining();
    await this.store.check();
  }

  /**
   * Returns what is wrong while the service takes queries, as a sentence that callers may read: signals of other processes do not
   * arrive, so that followers of their runs are late. Undefined if nothing is.
   *
   * @example
   * const warning = agent.trouble();
   */
  trouble(): string | undefined {
    return this.store.signals.trouble;
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

  /** Whether a query is refused because the service shuts down. */
  #isDraining(request?: QueryOptions['request']): boolean {
    const { connections } = this;
    return connections?.refuses(request) ?? this.#drained !== undefined;
  }

  async #drain(): Promise<void> {
    // Here, because Nest calls the hooks of what this service injects after its own.
    await this.connections?.answerLastCallers();
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
}
