import type { QueryError } from '../contract/errors.js';
import type { RunEnd, RunStatus, Turn, TurnFile, TurnText } from '../contract/wire.js';
import type { Awaitable, FileStore } from './file-store.js';

export type { Awaitable };

/**
 * What is never dropped of the log of a run that has not ended, in characters of JSON before its newest envelope: a handler
 * that is held back is not further ahead of the fastest of those who follow it.
 */
export const KEPT_LENGTH = 64 * 1024;

/** What a second query of a busy session meets. */
export type SessionPolicy = 'enqueue' | 'reject' | 'interrupt';

/** A run as the store keeps it. Times are milliseconds since the epoch. */
export interface RunRecord {
  readonly id: string;
  readonly owner: string;
  readonly sessionId: string | undefined;
  readonly status: RunStatus;
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  /** The number of the newest envelope; 0 before the first. */
  readonly lastSeq: number;
  readonly end: RunEnd | undefined;
}

/** Names a run: its record does, as it was when the run was admitted or at any time since. */
export type RunRef = Pick<RunRecord, 'id' | 'owner'>;

/** What is to become a run. */
export interface Admission {
  runId: string;
  owner: string;
  /** The query as it is kept: files as name, type, size and digest. */
  parts: (TurnText | TurnFile)[];
  kwargs: Record<string, unknown>;
  session:
    | { id: string; policy: SessionPolicy; /** How many runs may wait in line. */ maxWaiting: number }
    | undefined;
  /** The caller's idempotency key, with a digest of the query that it stands for. */
  idempotency: { key: string; digest: string } | undefined;
  /** Why no new run may be made at present, if so. A repeated query still finds the run that it started. */
  refusal: QueryError | undefined;
  /** Why no new run may be put in line behind others at present, if so. */
  refusalIfQueued: QueryError | undefined;
}

/** What became of an admission. */
export interface Admitted {
  run: RunRecord;
  /** False where the idempotency key led to a run that there was already. */
  created: boolean;
  /** Runs of the session that stand before this one, oldest first. Empty: it may start. */
  ahead: RunRecord[];
}

/** A stretch of a run's log. */
export interface LogSlice {
  /** The number of its first envelope. */
  first: number;
  /** How many envelopes it has; 0 where there is nothing after the cursor yet. */
  count: number;
  /** Their JSON texts, a line each: `\n` between them, which no JSON text of ours holds, and none after the last. */
  lines: string;
  /** Where the stretch ends, in characters of JSON since the beginning of the log. */
  endOffset: number;
  /** Whether the stretch ends with `done`, or the cursor stood there: nothing will ever follow. */
  ended: boolean;
}

/** A waiting run whose turn has come, or that was admitted by a process that is gone. */
export interface StoredRun {
  run: RunRecord;
  parts: Admission['parts'];
  kwargs: Record<string, unknown>;
  /** Whether no other run of its session stands before it. */
  isFirst: boolean;
}

/**
 * The record: runs, their event logs, the turns of sessions, idempotency keys, and who is next in a session.
 *
 * Every method names the owner; what belongs to another does not exist. Each is one atomic step, and steps that concern
 * one run take effect in the order in which they were called. A method that need not wait returns its value at once
 * instead of a promise, and callers do not wait either. Owners, session ids and idempotency keys are any strings at all:
 * a NUL or a lone surrogate makes them no less different.
 *
 * `test/contracts/run-store.contract.ts` holds every implementation to this.
 */
export abstract class RunStore {
  /** Whether waiting runs are still there after the process has ended. */
  abstract readonly durable: boolean;

  /** The contents of the files of its queries. */
  abstract readonly files: FileStore;

  /**
   * Takes up what processes have left that are gone: a run that was executing ends as `interrupted`, one that was waiting
   * is executed by this process. Called once, before anything else is; resolves when all that is known by then is done.
   *
   * @param take called for each run that is to wait here, or to be executed at once if it is the first of its session;
   * with a store that several processes share, also later, and for runs of this process whose turn has come
   */
  recover(take: (stored: StoredRun) => void): Awaitable<void> {
    void take;
  }

  /** @throws {QueryError} `unavailable`: the store takes no runs at present */
  check(): Awaitable<void> {}

  /** Gives up everything that the store holds open. Called when nothing of this process's is running any more. */
  close(): Awaitable<void> {}

  /**
   * Makes a run with the status `waiting` and puts it at the end of its session's line; or finds the run that the same
   * idempotency key made for the same owner and digest.
   *
   * @throws {QueryError} `idempotency_conflict`: the key stands for another digest · `session_busy`: the policy is
   * `reject` and the session has a run that has not ended · `session_full`: the policy is `enqueue` and `maxWaiting`
   * runs wait already · the admission's `refusalIfQueued`: the policy is `enqueue` and there are runs before it · the
   * admission's `refusal`. Where several apply, the first of these. Nothing of what is refused is kept.
   */
  abstract admit(admission: Admission): Awaitable<Admitted>;

  /** Turns a waiting run into a running one; false if it is not waiting (any more). */
  abstract start(run: RunRef): Awaitable<boolean>;

  /**
   * Adds one envelope to the log of a run that has not ended; for any other it does nothing. Nothing is returned where
   * the envelope is kept already; otherwise a promise of that, which may be one and the same for several envelopes.
   * What can be read is kept.
   */
  abstract append(run: RunRef, envelope: string): void | Promise<void>;

  /**
   * Ends a run, in one step: `done` into the log, status, turn into the session, and out of the session's line.
   *
   * @param text the answer's text, for the turn
   * @returns undefined if the run has ended already; otherwise the ended run, and the run that is now first in the
   * session's line and waiting, if there is one
   */
  abstract finish(
    run: RunRef,
    end: RunEnd,
    text: string,
  ): Awaitable<{ run: RunRecord; next: RunRecord | undefined } | undefined>;

  /** The run, if this owner has it. */
  abstract find(owner: string, runId: string): Awaitable<RunRecord | undefined>;

  /**
   * Reads what follows `after` in a run's log: a stretch of some 64 KiB at most, but at least one envelope if there is one.
   *
   * @throws {QueryError} `not_found` · `cursor_expired`, with `oldest` and `latest`: what follows is no longer kept
   */
  abstract read(run: RunRef, after: number): Awaitable<LogSlice>;

  /**
   * A session's turns, in the order in which their runs ended.
   *
   * @param page `after`: how many turns to pass over, or undefined for the newest; `limit`: how many at most
   * @returns undefined if the owner has no such session; otherwise the turns, the number of the last of them (that of
   * the newest where `after` lies at or beyond it), and the number of the newest. Turns are numbered from 1 on; where the
   * oldest are no longer kept, the others keep their numbers.
   */
  abstract turns(
    owner: string,
    sessionId: string,
    page: { after: number | undefined; limit: number },
  ): Awaitable<{ turns: Turn[]; last: number; total: number } | undefined>;

  /** The session's runs that have not ended, in line; empty where there is none. */
  abstract queue(owner: string, sessionId: string): Awaitable<RunRecord[]>;

  /** Erases a session that has no unfinished run: its turns, its runs and their logs. False if there is none. */
  abstract erase(owner: string, sessionId: string): Awaitable<boolean>;
}
