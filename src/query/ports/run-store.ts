import type { RunEnd, TurnAnswer, TurnFile, TurnText } from 'nest-agent-query-client';
import type { DeliveryStore } from './delivery-store.js';
import type { Awaitable, FileStore } from './file-store.js';
import type {
  Admission,
  Admitted,
  AttemptRef,
  Ended,
  EndedRuns,
  EndedRunsPage,
  ListPosition,
  LogSlice,
  RunRecord,
  RunRef,
  RunsPage,
  StoredQuery,
} from './run-record.js';
import { runsUnerasable } from '../contract/refusals.js';
import { endedAmongAll } from './ended-runs.js';
import type { InputStore } from './input-store.js';
import { SessionStore } from './session-store.js';
import { LocalSignals, type Signals } from './other-processes.js';
import type { StoreHost } from './store-host.js';
import type { Used, UsageStore } from './usage-store.js';
import type { UploadStore } from './upload-store.js';

export type { Awaitable, StoreHost };
export * from './run-record.js';
export * from './session-record.js';

/**
 * The part of an unfinished run's log that a store never trims, in characters of JSON before the newest envelope. A handler
 * that is held back is never further ahead of its fastest follower.
 *
 * @example
 * while (lengthBeforeNewest - oldest.length >= KEPT_LENGTH) drop(oldest);
 */
export const KEPT_LENGTH = 64 * 1024;

/**
 * Keeps runs, their event logs, the turns of sessions, their queues, and idempotency keys: the port for a store of your own.
 * The package has `MemoryRunStore`, and `openStore` of `nest-agent-query/stores`.
 *
 * - Every method names the owner. What belongs to another owner does not exist.
 * - Every method is one atomic step. Steps of one run take effect in the order in which they were called.
 * - A method that need not wait returns its value instead of a promise, and its caller does not wait either.
 * - Owners, session ids and idempotency keys are any strings. A NUL or a lone surrogate makes them different like any other
 *   character.
 * - Every method may throw a `QueryError` with the code `unavailable`.
 *
 * The abstract members are what every store has. The others are capabilities, with a default for a store without them. Those of
 * sessions are in `SessionStore`.
 *
 * @example
 * QueryModule.forRoot({ handler: MyHandler, store: new MyRunStore() })
 */
export abstract class RunStore extends SessionStore {
  /**
   * Makes a run and appends it to the queue of its session; or finds the run that the same idempotency key started for the same
   * owner and digest, unless that run was interrupted. The new run is `running` if it may start at once; otherwise `waiting`.
   *
   * @throws {QueryError} the first that applies. Nothing of a refused query is kept.
   *
   * 1. `idempotency_conflict`: the key belongs to another digest
   * 2. `session_busy`: the policy is `reject` or the admission replaces turns, and the session has an unfinished run, besides one
   *    that is replaced; or the admission follows a run, and the session has gone on
   * 3. `session_full`: the policy is `enqueue`, and `maxWaiting` runs wait
   * 4. `invalid_query`: the admission replaces turns after a number that is greater than that of the newest turn
   * 5. the admission's `refusal`
   * 6. `rate_limited`: the run would wait, and `maxWaitingPerOwner` runs of its owner wait
   * 7. `at_capacity`: the run would wait, and `maxWaiting` runs of its module wait
   * 8. the errors of `fork`, and `not_found`: the owner does not have the session that is forked
   */
  abstract admit(admission: Admission): Awaitable<Admitted>;

  /**
   * Starts runs that are ready: this process executes them from now on. A run is ready as soon as it is the first of its
   * session, and fewer runs of its owner than `StoreHost.maxRunningPerOwner` are ready or execute. Of the runs that wait
   * for that, those that wait for longest become ready first.
   *
   * Owners get slots in turn: a run that becomes ready belongs to a round, and the runs of a round are started before those of
   * the next one. It is the round that starts at present, or the one after the last round in which its owner has a ready run,
   * whichever is later. In a round, the runs that are ready for longest come first. So a run of one owner waits for at most one
   * run of each other owner. A run that waits for its next attempt comes before the younger runs of its owner.
   *
   * @param count how many runs to take at most, from 1
   * @param module only the runs of this module are taken. Default: the module without a name
   */
  abstract take(count: number, module?: string): Awaitable<RunRecord[]>;

  /**
   * Appends one envelope to the log of a run that this process executes; does nothing for any other run. Returns nothing if the
   * envelope is stored already, otherwise a promise of that, which envelopes may share. An envelope that can be read is stored.
   *
   * @param used what the envelope tells that models have used: `usage` adds it up in the same step. Default: nothing
   */
  abstract append(run: RunRef, envelope: string, used?: Used): void | Promise<void>;

  /**
   * Saves the state of a handler, together with everything that was appended before: the next attempt begins with it. Default:
   * nothing, for stores whose runs have no other attempt.
   *
   * @param state JSON
   * @throws {QueryError} `interrupted`: this process does not execute the run, or not at this attempt · `storage_full`
   */
  saveCheckpoint(run: AttemptRef, state: string): Awaitable<void> {
    void run;
    void state;
  }

  /**
   * Saves a file of the answer: it can be read when this has resolved. If the run has a file with the same content, the name and
   * the type of that file stay.
   *
   * @throws {QueryError} `interrupted`: this process does not execute the run, or not at this attempt · `storage_full`
   */
  abstract saveFile(run: AttemptRef, file: TurnFile, content: Blob): Awaitable<void>;

  /**
   * Ends a run that waits, asks, or executes in this process, in one step: appends `done`, sets the status, adds the turn to the
   * session, removes the run from the queue. Of a run that asks, it closes the open requests, and the log says what its turn
   * keeps.
   *
   * @param answer what the turn keeps of the answer
   * @returns undefined if the run has ended before, executes in another process, or is at a later attempt
   */
  abstract end(run: AttemptRef, end: RunEnd, answer: TurnAnswer): Awaitable<Ended | undefined>;

  /**
   * Records what a caller wants of an unfinished run. `detach`: it continues when nobody follows it. `cancel`: the process that
   * executes it shall cancel it. That process is told by `StoreHost.wished`, also if a signal is lost. Returns whether it
   * is new.
   */
  abstract wish(run: RunRef, what: 'cancel' | 'detach'): Awaitable<boolean>;

  /**
   * Returns the run, if this owner has it.
   *
   * @param isFresh whether it must have what other processes have wished (`wish`), also if this process executes it. Default false
   */
  abstract find(owner: string, runId: string, isFresh?: boolean): Awaitable<RunRecord | undefined>;

  /**
   * Returns a part of a query or of its answer by the digest of its content: a text that pages of turns show cut; or a file
   * without its content, which `files` has unless it is no longer kept. Undefined if the owner has no such run or turn, or it
   * has no such part.
   */
  abstract part(owner: string, runId: string, sha256: string): Awaitable<TurnFile | TurnText | undefined>;

  /**
   * Reads the log after a cursor: at most about 64 KiB, but at least one envelope if there is one.
   *
   * @throws {QueryError} `not_found` · `cursor_expired`, with `oldest` and `latest`: these envelopes were trimmed
   */
  abstract read(run: RunRef, after: number): Awaitable<LogSlice>;

  /**
   * Returns runs of an owner, those that were admitted last first; `next` is where they end, undefined if no more follow. A
   * caller who reads all pages gets each run that exists throughout exactly once, whatever runs are added and removed
   * meanwhile.
   */
  abstract runs(
    owner: string,
    page: RunsPage,
  ): Awaitable<{ runs: RunRecord[]; next: ListPosition | undefined }>;

  /**
   * Erases a run that has ended and belongs to no session: its log, files, requests and webhooks. What it has used stays. Returns
   * false if the owner has no such run. Default: throws `invalid_query`, the store cannot.
   *
   * @throws {QueryError} `session_busy`: the run has not ended
   */
  eraseRun(owner: string, runId: string): Awaitable<boolean> {
    void owner;
    void runId;
    throw runsUnerasable();
  }

  /** Whether waiting runs survive the end of the process. Then it also has `query`, `handOver` and `saveCheckpoint`. Default
   * false. */
  readonly durable: boolean = false;

  /** Keeps what runs ask. Default: runs cannot ask. */
  readonly inputs?: InputStore;

  /** Keeps the webhooks of runs. Default: there are none. */
  readonly deliveries?: DeliveryStore;
  /** Adds up what owners use. Default: nobody does, and nobody has a budget. */
  readonly usage?: UsageStore;

  /** The contents of files. Default: the memory of this process has them, within a limit. */
  readonly files?: FileStore;

  /** Keeps files that are sent before their query. Default: they are sent with it. */
  readonly uploads?: UploadStore;

  /** Tells other processes that share the store about runs. Default: there are none. */
  readonly signals: Signals = new LocalSignals();

  /**
   * Opens the store, and recovers the runs of processes that are gone, now and later. A run that was executing waits for its
   * next attempt, if it has one; otherwise it ends as `interrupted`. Called once, before anything else. Resolves when all runs
   * that are known by then are recovered. Default: there are none.
   */
  open(host: StoreHost): Awaitable<void> {
    void host;
  }

  /** Closes everything that the store has open. Called when no run of this process is alive. Default: nothing is open. */
  close(): Awaitable<void> {}

  /** @throws {QueryError} `unavailable`: the store takes no runs at present. Default: it always does */
  check(): Awaitable<void> {}

  /**
   * Returns the query of an unfinished run that was taken. Default: throws, because this process has admitted all runs and
   * knows their queries.
   *
   * @throws {QueryError} `not_found`
   */
  query(run: RunRef): Awaitable<StoredQuery> {
    throw new Error(`The store does not keep the query of run ${run.id}.`);
  }

  /**
   * Returns the parts of the query of an unfinished run, as its admission had them. Default: those that `query` returns.
   *
   * @throws {QueryError} `not_found`
   */
  parts(run: RunRef): Awaitable<StoredQuery['parts']> {
    return Promise.resolve(this.query(run)).then(({ parts }) => parts);
  }

  /**
   * Returns runs of an owner that have ended, those that ended last first, whether more follow, and the number of those on all
   * pages. Default: reads all runs of the owner.
   */
  endedRuns(owner: string, page: EndedRunsPage): Promise<EndedRuns> {
    const { sessionId } = page;
    return endedAmongAll((after) => this.runs(owner, { sessionId, after, limit: 500 }), page);
  }

  /**
   * Hands a run that this process executes over to the queue: it waits for its next attempt, and its log continues with
   * `restarted`. The attempt does not count for `StoreHost.restarts`. Returns false if this process does not own the run.
   * Default: false, a run has one attempt.
   */
  handOver(run: AttemptRef): Awaitable<boolean> {
    void run;
    return false;
  }

  /**
   * Returns how many characters of JSON the logs have that are kept; in a store that processes share, of all runs that have
   * ended and of those that this process executes. Default: undefined, the store does not know.
   */
  logLength(): Awaitable<number | undefined> {
    return undefined;
  }

  /**
   * Reserves room for the bytes of an owner's files that are in transit in this process, in place of what it has reserved
   * before for the owner; 0 for none. What a process has reserved ends with it. Returns false, and the earlier reservation
   * stays, if all processes together would exceed `maxBytes`. Default: each process has the limit for itself.
   */
  reserveUploads(owner: string, bytes: number, maxBytes: number): Awaitable<boolean> {
    void owner;
    return bytes <= maxBytes;
  }
}
