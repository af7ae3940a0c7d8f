import type { RetentionOptions } from '../../query/index.js';
import type { FileRetention } from '../files/file-sweeper.js';

const DAY_MS = 24 * 60 * 60_000;
const MiB = 1024 * 1024;

/**
 * What a file or a Postgres database keeps, and for how long. Times are milliseconds, lengths are characters of JSON. The
 * store drops what exceeds them once a minute. It never drops a run that has not ended, its session, or its files.
 *
 * @example
 * await openStore('file:./data/agent-query.db', { retention: { runMs: 24 * 60 * 60_000, filesBytes: 1024 ** 3 } })
 */
export interface StoredRetention extends RetentionOptions, FileRetention {
  /** How long a run, its log and its idempotency key are kept after its end. Default 604,800,000 (7 days). */
  runMs: number;
  /**
   * How much of the log of an unfinished run is kept. Beyond it the oldest envelopes are dropped, but never the newest
   * 64 KiB. Default 67,108,864 (64 Mi).
   */
  logLength: number;
  /**
   * How much is kept of all logs together. Beyond it the runs that ended first are dropped, and then the oldest envelopes
   * of the longest logs of unfinished runs, but never their newest 64 KiB. Default 4,294,967,296 (4 Gi).
   */
  totalLength: number;
  /** How long a session is kept after its last turn. Default 2,592,000,000 (30 days). */
  sessionMs: number;
  /**
   * How much is kept of all turns together. Beyond it the turns of the sessions that were unused for longest are dropped,
   * the oldest first. Default 1,073,741,824 (1 Gi).
   */
  sessionsLength: number;
  /** How long a content of a file is kept after it was stored. Default 2,592,000,000 (30 days). */
  fileMs: number;
  /**
   * How many bytes of contents of files are kept. Beyond it the oldest contents are dropped. Default 10,737,418,240
   * (10 GiB).
   */
  filesBytes: number;
}

export const STORED_RETENTION_DEFAULTS: Readonly<StoredRetention> = Object.freeze({
  runMs: 7 * DAY_MS,
  logLength: 64 * MiB,
  totalLength: 4096 * MiB,
  sessionMs: 30 * DAY_MS,
  sessionsLength: 1024 * MiB,
  fileMs: 30 * DAY_MS,
  filesBytes: 10 * 1024 * MiB,
});
