import type { Admission, RunRecord } from './run-record.js';
import { isInterrupted } from '../contract/envelopes.js';
import {
  atCapacity,
  idempotencyConflict,
  ownerAtCapacity,
  sessionBusy,
  sessionFull,
} from '../contract/refusals.js';

/* What becomes of a query, in the order in which `RunStore.admit` decides it. A store finds the facts, and asks what follows. */

/**
 * Whether a repeated query has its answer in the run that its idempotency key started. The key starts a new run if that was
 * interrupted: its caller was asked to send the query again.
 *
 * @param hasSameQuery whether the digests of both queries are the same
 * @throws {QueryError} `idempotency_conflict`
 *
 * @example
 * if (known && isRepeated(known, known.digest === digest)) return { run: known, created: false, ahead: [] };
 */
export function isRepeated({ end }: Pick<RunRecord, 'end'>, hasSameQuery: boolean): boolean {
  if (!hasSameQuery) throw idempotencyConflict();
  return !isInterrupted(end);
}

/**
 * Refuses a query because of the runs ahead of it in its session, or because the service takes none.
 *
 * @param ahead how many there are, besides one that the query replaces
 * @param isBehindAsking whether the first of them asks: `supersedes` has decided that the query waits. Default false
 * @throws {QueryError} `session_busy` · `session_full` · the admission's `refusal`
 *
 * @example
 * refuseBehind(queue.length, admission);
 */
export function refuseBehind(ahead: number, { session, refusal }: Admission, isBehindAsking = false): void {
  if (session && ahead > 0) {
    if (session.replaces !== undefined) throw sessionBusy();
    const policy = isBehindAsking ? 'enqueue' : session.policy;
    if (policy === 'reject') throw sessionBusy();
    if (policy === 'enqueue' && ahead > session.maxWaiting) throw sessionFull(session.maxWaiting);
  }
  if (refusal) throw refusal;
}

/** What a new run does at first: see `placeOf`. */
export interface Place {
  /** It executes at once, in this process. */
  starts: boolean;
  /** Any process may start it: it is the first of its session, and not deferred. */
  isReady: boolean;
  /** It is the first of its session, but its owner has reached the limit of active runs. */
  isDeferred: boolean;
}

/**
 * Decides what a new run does at first. `hasFreePlace`: one more run of the owner may become active.
 *
 * @example
 * const { starts, isReady } = placeOf(admission, queue.length, true);
 */
export function placeOf({ mayStart }: Admission, ahead: number, hasFreePlace: boolean): Place {
  const isReady = ahead === 0 && hasFreePlace;
  return { starts: mayStart && isReady, isReady, isDeferred: ahead === 0 && !hasFreePlace };
}

/**
 * The record of a new run.
 *
 * @param starts whether it executes at once
 * @param now milliseconds since the epoch
 *
 * @example
 * const run = recordOfAdmission(admission, place.starts, Date.now());
 */
export function recordOfAdmission(admission: Admission, starts: boolean, now: number): RunRecord {
  const { runId, owner, session, detached, trace, path, metadata } = admission;
  return {
    id: runId,
    owner,
    sessionId: session?.id,
    status: starts ? 'running' : 'waiting',
    createdAt: now,
    startedAt: starts ? now : undefined,
    endedAt: undefined,
    lastSeq: 0,
    end: undefined,
    attempt: 1,
    detached,
    trace,
    path,
    metadata,
  };
}

/**
 * Refuses a query that would wait, if `maxWaitingPerOwner` runs of the owner wait, or too many runs of the module.
 *
 * @param waiting how many runs of the module wait
 * @throws {QueryError} `rate_limited` · `at_capacity`
 *
 * @example
 * if (!place.starts) refuseToWait(admission, false, waiting);
 */
export function refuseToWait(
  { maxWaiting, maxWaitingPerOwner = Infinity }: Admission,
  isOwnerFull: boolean,
  waiting: number,
): void {
  if (isOwnerFull) throw ownerAtCapacity(maxWaitingPerOwner);
  if (waiting >= maxWaiting) throw atCapacity(waiting);
}
