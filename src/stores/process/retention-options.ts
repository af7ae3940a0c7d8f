import type { RetentionOptions } from '../../query/index.js';

const DAY_MS = 24 * 60 * 60_000;
const MiB = 1024 * 1024;

/**
 * What a file or a Postgres database keeps, and for how long. Times are milliseconds, lengths are characters of JSON. The
 * store drops what exceeds them once a minute. It never drops a run that has not ended, its session, or its files.
 *
 * Defaults: `runMs` 7 days (a run, its log and its idempotency key), `logLength` 64 Mi, `totalLength` 4 Gi, `sessionMs` and
 * `fileMs` 30 days, `sessionsLength` 1 Gi, `filesBytes` 10 GiB.
 *
 * @example
 * await openStore('file:./data/agent-query.db', { retention: { runMs: 24 * 60 * 60_000, filesBytes: 1024 ** 3 } })
 */
export interface StoredRetention extends RetentionOptions {
  /** How long a content of a file is kept after it was stored. */
  fileMs: number;
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
