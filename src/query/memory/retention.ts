/** How much a store keeps, and for how long. Times are milliseconds, lengths are characters of JSON. */
export interface RetentionOptions {
  /** How long a run and its log are kept after its end. Default in memory: 3,600,000 (1 h). */
  runMs: number;
  /**
   * How much of one run's log is kept. Beyond it the oldest envelopes are dropped, but never the newest 64 KiB. Default in
   * memory: 67,108,864.
   */
  logLength: number;
  /**
   * How much is kept of all runs together. Beyond it the runs that ended first are dropped, and then the oldest envelopes of
   * the longest logs, but never the newest 64 KiB of a run that has not ended. Default in memory: 134,217,728.
   */
  totalLength: number;
  /** How long a session is kept after its last turn. Default in memory: 86,400,000 (24 h). */
  sessionMs: number;
  /**
   * How much is kept of all sessions together. Beyond it the sessions that were unused for longest are dropped, and of the
   * last one its oldest turns. Default in memory: 134,217,728.
   */
  sessionsLength: number;
  /**
   * How many bytes are kept of files. Beyond it the oldest files are dropped. The memory store keeps a file of more than a
   * sixteenth of it in a temporary file; those may have sixteen times as many bytes together. Default in memory: 67,108,864.
   */
  filesBytes: number;
}

/**
 * The defaults of a `MemoryRunStore`.
 *
 * @example
 * new MemoryRunStore({ totalLength: 4 * MEMORY_RETENTION_DEFAULTS.totalLength })
 */
export const MEMORY_RETENTION_DEFAULTS: Readonly<RetentionOptions> = Object.freeze({
  runMs: 60 * 60_000,
  logLength: 64 * 1024 * 1024,
  totalLength: 128 * 1024 * 1024,
  sessionMs: 24 * 60 * 60_000,
  sessionsLength: 128 * 1024 * 1024,
  filesBytes: 64 * 1024 * 1024,
});
