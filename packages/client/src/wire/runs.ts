import type { ErrorCode, HostCode } from './problems.js';

/** Why a run failed. */
export interface RunFailure {
  code: ErrorCode | HostCode;
  message: string;
}

/** How a run ended. */
export type RunEnd =
  { status: 'completed' } | { status: 'cancelled' } | { status: 'failed'; error: RunFailure };

/** The state of a run: in a queue, executing, asking (`input_required`), or how it ended. */
export type RunStatus = 'waiting' | 'running' | 'input_required' | RunEnd['status'];

/** A run as `GET {base}/query/{runId}` returns it. Times are ISO 8601 in UTC. */
export interface RunView {
  id: string;
  status: RunStatus;
  /** The session that the query named, or null. */
  session: string | null;
  createdAt: string;
  startedAt: string | null;
  endedAt: string | null;
  /** The number of envelopes so far, `done` included. */
  events: number;
  /** What the query says about itself; absent if it says nothing. */
  metadata?: Record<string, string>;
  /** Why the run failed; absent for any other status. */
  error?: RunFailure;
}

/** A page of the caller's runs, as `GET {base}/query` returns it. */
export interface RunList {
  /** Newest first. */
  runs: RunView[];
  /** The value of `after` for the next page; null at the end. */
  next: string | null;
}
