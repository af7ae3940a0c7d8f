import type { QueryError } from '../contract/errors.js';
import type { ListPosition } from '../contract/list-cursor.js';
import type { RunEnd, RunStatus, Turn, TurnAnswer, TurnFile, TurnText } from 'nest-agent-query-client';
import type { Awaitable, FileStore } from './file-store.js';
import { LocalSignals, type Signals } from './signals.js';

export type { Awaitable, ListPosition };

/**
 * The part of an unfinished run's log that a store never trims, in characters of JSON before the newest envelope. A handler
 * that is held back is never further ahead of its fastest follower.
 */
export const KEPT_LENGTH = 64 * 1024;

/**
 * What happens to a query of a session that has an unfinished run: it waits in the queue of the session, it is refused with
 * `session_busy`, or it cancels the unfinished runs.
 */
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
  /** Which execution of the handler this is, or will be if the run waits: 1, and one more after each restart. */
  readonly attempt: number;
  /** Whether the run continues when nobody follows it. */
  readonly detached: boolean;
  /** See `Admission.trace`. */
  readonly trace: string | undefined;
  /** See `Admission.path`. */
  readonly path: string | undefined;
}

/** Names a run. Any record of the run does, however old it is. */
export type RunRef = Pick<RunRecord, 'id' | 'owner'>;

/** Names one attempt of a run: a process that has lost the run does not change what the next attempt does. */
export type AttemptRef = Pick<RunRecord, 'id' | 'owner' | 'attempt'>;

/** A query that asks to become a run. */
export interface Admission {
  runId: string;
  /** The name of the module that executes the run, if several modules share the store. Default: the module without a name. */
  module?: string | undefined;
  owner: string;
  /** The parts of the query; files as name, type, size and digest. */
  parts: (TurnText | TurnFile)[];
  kwargs: Record<string, unknown>;
  /** The session, its policy, and how many of its runs may wait; undefined if the query names no session. */
  session: { id: string; policy: SessionPolicy; maxWaiting: number } | undefined;
  /** The caller's idempotency key, with the digest of the query. */
  idempotency: { key: string; digest: string } | undefined;
  /** Whether the run continues when nobody follows it. */
  detached: boolean;
  /**
   * The trace to which the run belongs; undefined if there is none. A text for the store to keep as it is: up to 568 printable
   * ASCII characters.
   */
  trace: string | undefined;
  /**
   * The path that the caller of the query used, such as `/api/query`; undefined if it is the one of the module, or not known. A
   * text for the store to keep as it is: up to 1,024 printable ASCII characters. Default: undefined.
   */
  path?: string | undefined;
  /** Whether this process has a free slot. If so, and if no runs are ahead, the run starts in the same step. */
  mayStart: boolean;
  /** How many runs of the module may wait, in all processes together. */
  maxWaiting: number;
  /** How many runs of the owner may wait in the module, in all processes together. Default: no limit. */
  maxWaitingPerOwner?: number;
  /** Why no new run can be admitted at present. A repeated query still finds the run that it started. */
  refusal: QueryError | undefined;
  /**
   * The envelopes with which the log begins, as JSON texts.
   *
   * @param ahead how many runs of the session are ahead; undefined if the run starts at once
   * @param isDeferred whether the run waits because as many runs of its owner execute as may. Default false
   */
  notices(ahead: number | undefined, isDeferred?: boolean): string[];
}

/** The result of an admission. */
export interface Admitted {
  /** The run. Its status is `running` if it was started in the same step: then this process executes it. */
  run: RunRecord;
  /** False if the idempotency key belongs to a run that existed before. */
  created: boolean;
  /** The runs ahead of this one in the queue of its session, oldest first. */
  ahead: RunRecord[];
}

/** Consecutive envelopes of a log. */
export interface LogSlice {
  /** The number of the first envelope. */
  first: number;
  /** How many envelopes there are; 0 if there is nothing after the cursor yet. */
  count: number;
  /** Their JSON texts, one per line, without a line end after the last. A JSON text of ours contains no line end. */
  lines: string;
  /** Where the slice ends, in characters of JSON since the beginning of the log. */
  endOffset: number;
  /** Whether the slice ends with `done`, or the cursor was at `done`: nothing will follow. */
  ended: boolean;
}

/** What an attempt of a run needs besides its record. */
export interface StoredQuery {
  /** The parts of the query; files as name, type, size and digest. */
  parts: Admission['parts'];
  kwargs: Record<string, unknown>;
  /** What a turn keeps of the answer so far, without what earlier attempts made void. */
  answer: TurnAnswer;
  /** The state of the last checkpoint, as JSON; undefined if there is none. */
  checkpoint: string | undefined;
}

/** What a store reports about runs that it recovers. */
export interface RecoveryEvents {
  /** How often a run of a module may be executed again after its process was lost. */
  restarts(module: string): number;
  /**
   * How many runs of one owner the processes may execute at the same time, for a module; Infinity for no limit, and undefined for
   * a module that this process does not know. Asked again and again.
   */
  maxRunningPerOwner(module: string): number | undefined;
  /**
   * Another process has asked something of a run that this process executes: see `RunStore.cancel` and `RunStore.detach`.
   * Told again and again while the run executes.
   */
  asked(runId: string, what: 'cancel' | 'detach'): void;
  /** This process does not own the run any more. Its handler must stop; nothing that it emits is kept. */
  lost(runId: string): void;
  /**
   * A run of a process that is gone has a new end or a new attempt.
   *
   * @param ended the run, if it has ended
   */
  recovered(runId: string, ended: RunRecord | undefined): void;
  /** Runs may wait that this process can take. */
  ready(): void;
}

/** A page of turns. */
export interface TurnsPage {
  /** How many turns to skip; undefined for the newest turns. */
  after: number | undefined;
  /** The most turns to return. */
  limit: number;
  /** The most characters of JSON that they have together; at least one turn is returned. Default: no limit. */
  maxLength?: number;
  /**
   * Whether texts over 64 KiB are cut, as callers get them; `text` returns the whole. Default false, as handlers get them. The
   * contents of messages are cut with the text of the answer, and count a second time for the length of such a page.
   */
  cutTexts?: boolean;
}

/** A page of a list. */
export interface ListPage {
  /** Where the page before ends; undefined for the first page. */
  after: ListPosition | undefined;
  /** The most entries to return. */
  limit: number;
  /** The most characters of JSON that they have together, about; at least one entry is returned. Default: no limit. */
  maxLength?: number;
}

/** A page of an owner's runs. */
export interface RunsPage extends ListPage {
  /** Only runs of this session. Default: all. */
  sessionId?: string | undefined;
  /** Only runs with this status. Default: all. */
  status?: RunStatus | undefined;
}

/** A session as lists have it. */
export interface SessionRecord {
  readonly id: string;
  /** The beginning of the first text of its queries; see `titleOf`. Undefined if none of them has a text. */
  readonly title: string | undefined;
  /** The number of the newest turn. */
  readonly turns: number;
  /** When its newest run was admitted or its newest turn was added, whichever is later; milliseconds since the epoch. */
  readonly usedAt: number;
  /** The id of the run that executes. */
  readonly active: string | undefined;
}

/**
 * Keeps runs, their event logs, the turns of sessions, their queues, and idempotency keys. This is the port for a store of your
 * own; the package has `MemoryRunStore`, and `openStore` of `nest-agent-query/stores`.
 *
 * - Every method names the owner. What belongs to another owner does not exist.
 * - Every method is one atomic step. Steps of one run take effect in the order in which they were called.
 * - A method that need not wait returns its value instead of a promise, and its caller does not wait either.
 * - Owners, session ids and idempotency keys are any strings. A NUL or a lone surrogate makes them different like any other
 *   character.
 *
 * @example
 * QueryModule.forRoot({ handler: MyHandler, store: new MyRunStore() })
 */
export abstract class RunStore {
  /** Whether waiting runs survive the end of the process. */
  abstract readonly durable: boolean;

  /** The contents of the files of queries and answers. */
  abstract readonly files: FileStore;

  /** Tells other processes that share the store about runs. Default: there are none. */
  readonly signals: Signals = new LocalSignals();

  /**
   * Recovers the runs of processes that are gone, now and later. A run that was executing waits for its next attempt, if it
   * has one; otherwise it ends as `interrupted`. Called once, before anything else. Resolves when all runs that are known by
   * then are recovered.
   *
   * @param events what the service wants to know
   */
  recover(events: RecoveryEvents): Awaitable<void> {
    void events;
  }

  /** @throws {QueryError} `unavailable`: the store takes no runs at present */
  check(): Awaitable<void> {}

  /**
   * Returns how many characters of JSON the logs have that are kept; in a store that processes share, of all runs that have
   * ended and of those that this process executes. Default: undefined, the store does not know.
   *
   * @throws {QueryError} `unavailable`
   */
  logLength(): Awaitable<number | undefined> {
    return undefined;
  }

  /** Closes everything that the store has open. Called when no run of this process is alive. */
  close(): Awaitable<void> {}

  /**
   * Reserves room for the bytes of an owner's files that are in transit in this process, in place of what it has reserved before
   * for the owner. What a process has reserved ends with it. Called where processes share the store. Default: each process has the
   * limit for itself.
   *
   * @param bytes how many; 0 for none
   * @param maxBytes how many all processes together may reserve for the owner
   * @returns false if they would exceed that: then the earlier reservation stays
   * @throws {QueryError} `unavailable`
   */
  reserveUploads(owner: string, bytes: number, maxBytes: number): Awaitable<boolean> {
    void owner;
    return bytes <= maxBytes;
  }

  /**
   * Makes a run and appends it to the queue of its session; or finds the run that the same idempotency key started for the
   * same owner and digest. If that run was interrupted, the key starts a new run. The run has the status `running` if it may
   * start at once; otherwise `waiting`.
   *
   * @throws {QueryError} the first that applies. Nothing of a refused query is kept.
   *
   * 1. `idempotency_conflict`: the key belongs to another digest
   * 2. `session_busy`: the policy is `reject`, and the session has an unfinished run
   * 3. `session_full`: the policy is `enqueue`, and `maxWaiting` runs wait
   * 4. the admission's `refusal`
   * 5. `rate_limited`: the run would wait, and `maxWaitingPerOwner` runs of its owner wait
   * 6. `at_capacity`: the run would wait, and `maxWaiting` runs of its module wait
   */
  abstract admit(admission: Admission): Awaitable<Admitted>;

  /**
   * Starts runs that are ready: this process executes them from now on. A run is ready as soon as it is the first of its
   * session, and fewer runs of its owner than `RecoveryEvents.maxRunningPerOwner` are ready or execute. Of the runs that wait
   * for that, those that wait for longest become ready first.
   *
   * Owners get slots in turn: a run that becomes ready belongs to a round, and the runs of a round are started before those of
   * the next one. It is the round that starts at present, or the one after the last round in which its owner has a ready run,
   * whichever is later. In a round, the runs that are ready for longest come first. So a run of one owner waits for at most one
   * run of each other owner, however many they have. A run that waits for its next attempt comes before the younger runs of its
   * owner.
   *
   * @param count how many runs to take at most, from 1
   * @param module the module that executes them: only its runs are taken. Default: the module without a name
   */
  abstract take(count: number, module?: string): Awaitable<RunRecord[]>;

  /**
   * Returns the query of an unfinished run.
   *
   * @throws {QueryError} `not_found` · `unavailable`
   */
  abstract query(run: RunRef): Awaitable<StoredQuery>;

  /**
   * Appends one envelope to the log of a run that this process executes; does nothing for any other run. Returns nothing if
   * the envelope is stored already, otherwise a promise of that. Several envelopes may share one promise. An envelope that
   * can be read is stored.
   */
  abstract append(run: RunRef, envelope: string): void | Promise<void>;

  /**
   * Keeps a file of the answer of a run that this process executes. It can be read when this has resolved. A run that has a file
   * with the same content keeps the name and the type of that file.
   *
   * @throws {QueryError} `interrupted`: this process does not execute the run, or not at this attempt · `storage_full` ·
   * `unavailable`
   */
  abstract addFile(run: AttemptRef, file: TurnFile, content: Blob): Awaitable<void>;

  /**
   * Returns a file of a query or an answer, without its content: `files` has that, unless the file is no longer kept.
   *
   * @returns undefined if the owner has no such run and no turn of it, or it has no such file
   * @throws {QueryError} `unavailable`
   */
  abstract file(owner: string, runId: string, sha256: string): Awaitable<TurnFile | undefined>;

  /** From now on an unfinished run continues when nobody follows it. Returns whether that is new. */
  abstract detach(run: RunRef): Awaitable<boolean>;

  /**
   * Asks the process that executes the run to cancel it: that process is told by `RecoveryEvents.asked`, also if a signal is
   * lost. Called where processes share the store. Default: there are no others.
   *
   * @throws {QueryError} `unavailable`
   */
  cancel(run: RunRef): Awaitable<void> {
    void run;
  }

  /**
   * Returns whether the run continues when nobody follows it, as any process may have asked by now. Called where processes share
   * the store, before a run is cancelled because nobody follows it. Default: no other process has asked.
   */
  isDetached(run: RunRef): Awaitable<boolean> {
    void run;
    return false;
  }

  /**
   * Stores the state of a handler, together with everything that was appended before. The next attempt begins with it.
   *
   * @param state JSON
   * @throws {QueryError} `interrupted`: this process does not execute the run, or not at this attempt
   */
  abstract checkpoint(run: AttemptRef, state: string): Awaitable<void>;

  /**
   * Gives a run that this process executes back to the queue: it waits for its next attempt, and its log continues with
   * `restarted`. Returns false if this process does not own the run.
   */
  abstract handOver(run: AttemptRef): Awaitable<boolean>;

  /**
   * Ends a run in one step: appends `done`, sets the status, adds the turn to the session, removes the run from the queue.
   * The run executes in this process, or waits.
   *
   * @param answer what the turn keeps of the answer
   * @returns undefined if the run has ended before, executes in another process, or is at a later attempt; otherwise the
   * ended run, and a run that became ready by that: the next of its session, or one that had to wait because of its owner's limit
   */
  abstract finish(
    run: AttemptRef,
    end: RunEnd,
    answer: TurnAnswer,
  ): Awaitable<{ run: RunRecord; next: RunRecord | undefined } | undefined>;

  /** Returns the run, if this owner has it. */
  abstract find(owner: string, runId: string): Awaitable<RunRecord | undefined>;

  /**
   * Reads the log after a cursor: at most about 64 KiB, but at least one envelope if there is one.
   *
   * @throws {QueryError} `not_found` · `cursor_expired`, with `oldest` and `latest`: these envelopes were trimmed
   */
  abstract read(run: RunRef, after: number): Awaitable<LogSlice>;

  /**
   * Reads turns of a session, in the order in which their runs ended. Turns are numbered from 1. When the oldest are dropped,
   * the others keep their numbers.
   *
   * @param page which turns, and how many
   * @returns undefined if the owner has no such session; otherwise the turns, the number of the last of them (`total` if
   * there is none after `after`), and the number of the newest turn as `total`
   */
  abstract turns(
    owner: string,
    sessionId: string,
    page: TurnsPage,
  ): Awaitable<{ turns: Turn[]; last: number; total: number } | undefined>;

  /**
   * Returns a text of a turn that pages show cut.
   *
   * @param sha256 the digest of the text, as the page has it
   * @returns undefined if the owner has no such run, or it has no such text
   */
  abstract text(owner: string, runId: string, sha256: string): Awaitable<string | undefined>;

  /** Returns the unfinished runs of a session in the order of the queue. The first one executes. */
  abstract queue(owner: string, sessionId: string): Awaitable<RunRecord[]>;

  /**
   * Returns runs of an owner, those that were admitted last first.
   *
   * A caller who reads all pages gets each run that exists throughout exactly once, whatever runs are added and removed
   * meanwhile.
   *
   * @returns the runs, and where they end; undefined if no more follow
   */
  abstract runs(
    owner: string,
    page: RunsPage,
  ): Awaitable<{ runs: RunRecord[]; next: ListPosition | undefined }>;

  /**
   * Returns the sessions of an owner, those that were used last first, also those that have no turn yet. A session that is used
   * between two pages moves to the beginning of the list.
   *
   * @returns the sessions, and where they end; undefined if no more follow
   */
  abstract sessions(
    owner: string,
    page: ListPage,
  ): Awaitable<{ sessions: SessionRecord[]; next: ListPosition | undefined }>;

  /**
   * Erases a session: its turns, its runs and their logs. Returns false if there is none.
   *
   * @throws {QueryError} `session_busy`: the session has an unfinished run
   */
  abstract erase(owner: string, sessionId: string): Awaitable<boolean>;
}
