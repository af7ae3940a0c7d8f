import type { Turn } from 'nest-agent-query-client';
import { sessionsUnchangeable } from '../contract/refusals.js';
import type { Awaitable } from './file-store.js';
import type { ListPage, ListPosition, RunRecord } from './run-record.js';
import type { Fork, NumberedTurn, SessionRecord, TurnsPage } from './session-record.js';
import { turnAmong } from './turn-rules.js';

/** What a `RunStore` does with sessions: it keeps their turns, and the queues of their runs. */
export abstract class SessionStore {
  /**
   * Reads turns of a session, in the order in which their runs ended. Turns are numbered from 1. When the oldest are dropped,
   * the others keep their numbers.
   *
   * @returns the turns, the number of the last of them (`total` if there is none after `after`), and as `total` that of the
   * newest turn; undefined if the owner has no such session
   */
  abstract turns(
    owner: string,
    sessionId: string,
    page: TurnsPage,
  ): Awaitable<{ turns: Turn[]; last: number; total: number } | undefined>;

  /** Returns the unfinished runs of a session in the order of the queue. The first one executes. */
  abstract queue(owner: string, sessionId: string): Awaitable<RunRecord[]>;

  /**
   * Returns the sessions of an owner, those that were used last first, also those that have no turn yet; `next` as for `runs`.
   * A session that is used between two pages moves to the beginning of the list.
   */
  abstract sessions(
    owner: string,
    page: ListPage,
  ): Awaitable<{ sessions: SessionRecord[]; next: ListPosition | undefined }>;

  /**
   * Erases a session: its turns, its runs and their logs. What a fork shares with it stays. Returns false if there is none.
   *
   * @throws {QueryError} `session_busy`: the session has an unfinished run
   */
  abstract erase(owner: string, sessionId: string): Awaitable<boolean>;

  /**
   * Whether admissions can replace turns and runs, and fork sessions (`afterTurn`, `replaces` and `fork` of `Admission.session`).
   * Then it also has `fork`. Default false.
   */
  readonly changesSessions: boolean = false;

  /**
   * Makes a session that begins with the first turns of another one of the owner, or is empty. Files and long texts are shared: they are kept
   * as long as one of the sessions has their turn, and are found by the run of that turn. Undefined if there is no such session.
   *
   * @throws {QueryError} `session_exists`: the owner has a session with the new id · `invalid_query`, at `/afterTurn`: the session
   * has fewer turns. Default: always, the store cannot fork
   */
  fork(owner: string, fork: Fork): Awaitable<SessionRecord | undefined> {
    void owner;
    void fork;
    throw sessionsUnchangeable();
  }

  /**
   * Returns the turn of a run in a session, as a page with `cutTexts` has it; undefined if the owner has no such session, or it has no such
   * turn: a fork has the turns of the runs that it was made with. Default: reads the turns of the session until it is found.
   */
  turn(owner: string, sessionId: string, runId: string): Awaitable<NumberedTurn | undefined> {
    return turnAmong((page) => this.turns(owner, sessionId, page), runId);
  }
}
