import type { InputAnswer, InputRequest } from 'nest-agent-query-client';
import type { Awaitable } from './file-store.js';
import type { AttemptRef, Ended, ListPage, ListPosition, RunRef, StoredInput } from './run-record.js';

/** A checked `Question`: an `InputRequest` before the store has set when it expires, by its own clock. */
export interface NewRequest extends Omit<InputRequest, 'expiresAt'> {
  expiresInMs: number;
}

/** What a run asks in one pause. */
export interface Asking {
  /** 1 to 64. Their ids are new for the run. */
  requests: NewRequest[];
  /** The state of the handler as JSON, which its next attempt begins with; undefined: that of the last checkpoint stays. */
  state: string | undefined;
  /** Whether the handler can be called again. If not, the run ends with its process. */
  survives: boolean;
  /** How many runs of the owner may ask at the same time. */
  maxAsking: number;
}

/** Answers of one caller. */
export interface GivenAnswers {
  answers: InputAnswer[];
  /** Who answers. */
  by: string;
  /** Whether the run continues from now on when nobody follows it. */
  detached: boolean;
}

/** Requests of a run were resolved. */
export interface InputsResolved extends Omit<Ended, 'next'> {
  /** Those that were open before; empty if all answers were given before. */
  inputs: StoredInput[];
  /** The number of the envelope before the first of these answers. */
  before: number;
  /** The envelope of these answers, as it was appended. Default: who needs it reads the log. */
  text?: string;
  /** Whether a run became ready: this one, or another one if this one has ended. */
  isReady: boolean;
}

/**
 * Keeps what runs ask, as a part of a `RunStore`: a capability.
 *
 * A run that asks has the status `input_required`. It is not active: it has no slot, and does not count for the limit of its
 * owner. It stays the first of its session. As soon as all its requests are resolved it waits again, before the younger runs
 * of its owner. If its handler still waits in a process, only that process may take it, until it parks the run or is gone;
 * otherwise the next attempt begins. Attempts that end in this way do not count for `StoreHost.restarts`.
 *
 * The store resolves requests that expire by itself, by its own clock and without a timer for each, and tells that by
 * `StoreHost.resolved`. `nest-agent-query/store-rules` has what all stores do in the same way.
 *
 * @example
 * class MyRunStore extends RunStore {
 *   override readonly inputs: InputStore = new MyInputStore();
 *   // …
 * }
 */
export abstract class InputStore {
  /**
   * Lets a run ask that this process executes, in one step: appends `input_required`, keeps the requests and the state, and
   * frees the run from its slot. All these requests have the same `askedAt`, and those of another pause of the run have another
   * one: see `pausedAt`.
   *
   * @returns the envelope as it was appended, and its number
   * @throws {QueryError} `interrupted`: this process does not execute the run at this attempt · `rate_limited`: too many runs
   * of the owner ask
   */
  abstract ask(run: AttemptRef, asking: Asking): Awaitable<{ text: string; seq: number }>;

  /**
   * Takes a run that asks, or that was answered and waits, away from the handler that waits for the answers in this process: it
   * belongs to no process.
   *
   * @returns whether the handler may go: also if the run has ended, or belongs to another process. False if the handler cannot be
   * called again, or this process executes the run by now
   */
  abstract park(run: AttemptRef): Awaitable<boolean>;

  /**
   * Answers requests of a run, in one step: all of these answers, or none. Each answer is compared with what has become of its
   * request: the first one counts, and the same answer again is accepted.
   *
   * @throws {QueryError} `not_found`: no such run or request · `input_resolved` · `input_expired` · `run_ended`
   */
  abstract answer(run: RunRef, given: GivenAnswers): Awaitable<InputsResolved>;

  /** Returns all requests of a run, in the order in which they were asked. Empty if the owner has no such run. */
  abstract of(run: RunRef): Awaitable<StoredInput[]>;

  /** Returns open requests of an owner, newest first; `next` as for `RunStore.runs`. */
  abstract open(
    owner: string,
    page: ListPage,
  ): Awaitable<{ inputs: StoredInput[]; next: ListPosition | undefined }>;

  /** Returns whose run this is: for callers who may answer runs of others. */
  abstract ownerOf(runId: string): Awaitable<string | undefined>;

  /** Returns how many requests are open, of all owners. */
  abstract countOpen(): Awaitable<number>;
}
