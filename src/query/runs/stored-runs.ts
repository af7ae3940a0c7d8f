import type {
  RunList,
  RunView,
  SessionList,
  SessionPage,
  SessionView,
  Turn,
  UsageList,
} from 'nest-agent-query-client';
import { sessionNotFound } from '../contract/refusals.js';
import { refuseUnknown } from '../contract/unknown-members.js';
import type { Settings } from '../options/settings.js';
import type { NumberedTurn, RunRecord, RunStore } from '../ports/run-store.js';
import { storedOwner } from '../sharing/owners.js';
import { type EndedRunList, endedRunList, type EndedRunListOptions } from './ended-run-list.js';
import {
  LIST_OPTIONS,
  type ListOptions,
  listPageOf,
  nextOf,
  RUN_LIST_OPTIONS,
  type RunListOptions,
} from './lists.js';
import { existingRun, partsOf, viewOf } from './run-view.js';
import { sessionPage, sessionViewOf } from './session-view.js';
import { newRunId } from './submitted-query.js';
import { usageList, type UsageListOptions } from './usage-list.js';

/** The part of `AgentService` that needs the store only: it reads runs, sessions and usage, and makes sessions. */
export abstract class StoredRuns {
  protected constructor(
    protected readonly store: RunStore,
    protected readonly settings: Settings,
  ) {}

  /** @throws {QueryError} `not_found` · `unavailable` */
  async find(owner: string, runId: string): Promise<RunView> {
    return viewOf(await this.record(owner, runId));
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
    const { runs, next } = await this.store.runs(this.stored(owner), {
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
    return endedRunList(this.store, this.stored(owner), options);
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
    const { sessions, next } = await this.store.sessions(this.stored(owner), listPageOf(options));
    return { sessions: sessions.map(sessionViewOf), next: nextOf(next) };
  }

  /**
   * Adds up what the models have used for an owner, in pages: last used first.
   *
   * @param options what is added up, and which page of it. Default: by day, since the first day of this month
   * @throws {QueryError} `invalid_query`: `after` is not the `next` of a page · `unavailable` · {TypeError} an option is unknown
   */
  usage(owner: string, options: UsageListOptions = {}): Promise<UsageList> {
    return usageList(this.store, this.settings, this.stored(owner), options);
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
    return sessionPage(this.store, this.stored(owner), sessionId, after, limit);
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
    const session = await this.store.fork(this.stored(owner), { sessionId, afterTurn, newId });
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
    const made = await this.store.fork(this.stored(owner), { sessionId: undefined, afterTurn: 0, newId });
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
    const stored = this.stored(owner);
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
    return partsOf(this.store, await this.record(owner, runId));
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

  /** @throws {QueryError} `not_found` · `unavailable` */
  protected record(owner: string, runId: string): Promise<RunRecord> {
    return existingRun(this.store, this.stored(owner), runId);
  }

  /** The owner as the store has it: modules that share a store have owners of their own. */
  protected stored(owner: string): string {
    return storedOwner(this.settings.name, owner);
  }
}
