import { Logger } from '@nestjs/common';
import { KEPT_LENGTH, QueryError } from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import { ENDED, totalOf } from '../drivers/totals.js';
import type { FileSweeper } from '../files/file-sweeper.js';
import type { Db } from '../schema/tables.js';
import type { Lease } from './lease.js';
import type { LocalRuns } from './local-runs.js';
import { type Erasure, removeSegments } from './erasure.js';
import type { StoredRetention } from './retention-options.js';

const SWEEP_MS = 60_000;
const BATCH = 100;
/** A log that exceeds its limit is trimmed to this share of the limit, so that not every commit has to trim it. */
const TRIMMED_SHARE = 0.75;

const SESSIONS = { table: 'sessions', time: 'used_at', length: 'length' } as const;

/**
 * Applies the retention once a minute, unless another process does that at the time. It works in small steps, each of which is
 * a transaction.
 */
export class Sweeper {
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> | undefined;

  constructor(
    private readonly database: Database,
    private readonly lease: Lease,
    private readonly localRuns: LocalRuns,
    private readonly erasure: Erasure,
    private readonly files: FileSweeper,
    private readonly retention: StoredRetention,
  ) {}

  start(): void {
    this.#timer = setInterval(() => void this.sweep().catch(report), SWEEP_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  sweep(): Promise<void> {
    return (this.#sweeping ??= this.#sweep().finally(() => (this.#sweeping = undefined)));
  }

  async #sweep(): Promise<void> {
    // What is old is decided by the present time of the database.
    await this.database.synchronize();
    // Two sweeps at the same time would both drop what exceeds a limit, and so twice as much.
    if (await this.lease.beginSweep()) {
      try {
        const now = this.database.now();
        await this.#dropOldRuns(now - this.retention.runMs);
        await this.#dropOldSessions(now - this.retention.sessionMs);
        await this.#limitLogs();
        await this.#limitSessions();
        await this.files.sweep();
      } finally {
        await this.lease.endSweep();
      }
    }
    await this.#trimLocal();
  }

  /** Trims the logs of the unfinished runs of this process, until all together are within the limit. */
  async #trimLocal(): Promise<void> {
    const { logLength, totalLength } = this.retention;
    const { unfinished, unfinishedLength } = this.localRuns;
    const share = unfinishedLength > totalLength ? totalLength / unfinished.size : Infinity;
    for (const runId of [...unfinished.keys()]) await this.#trim(runId, Math.min(share, logLength));
  }

  /** Trims the log of a run of this process that has become too long. */
  trim(runId: string): void {
    this.#trim(runId, this.retention.logLength).catch(report);
  }

  /**
   * Trims the log of an unfinished run of this process, if it exceeds a limit. Never drops the newest envelope, or the
   * newest `KEPT_LENGTH` characters before it.
   */
  async #trim(runId: string, limit: number): Promise<void> {
    const run = this.localRuns.unfinished.get(runId);
    if (!run || run.keptLength <= limit) return;
    const before = run.trimmedOffset;
    const least = run.tail.newestLength + KEPT_LENGTH;
    const trimmedOffset = Math.floor(run.endOffset - Math.max(limit * TRIMMED_SHARE, least));
    if (trimmedOffset <= before) return;
    // Set before the wait, so that a commit during it does not trim the log again.
    run.trimmedOffset = trimmedOffset;
    try {
      while (await this.database.attemptTransaction((db) => removeSegments(db, [runId], trimmedOffset)));
    } catch (error) {
      run.trimmedOffset = before;
      throw error;
    }
    while (run.endOffset - run.tail.length < run.trimmedOffset && run.tail.trim());
  }

  async #dropOldRuns(before: number): Promise<void> {
    for (;;) {
      const runs = await this.database.attempt((db) =>
        oldestRuns(db).where('ended_at', '<=', before).execute(),
      );
      if (runs.length === 0) return;
      await this.erasure.removeRuns(runs.map(({ id }) => id));
    }
  }

  async #dropOldSessions(before: number): Promise<void> {
    for (;;) {
      const sessions = await this.database.attempt((db) =>
        idleSessions(db).where('used_at', '<=', before).execute(),
      );
      if (sessions.length === 0) return;
      for (const { key, length } of sessions) await this.erasure.removeSession(key, length);
    }
  }

  /** Drops ended runs, until all logs together are within their limit. */
  async #limitLogs(): Promise<void> {
    const { unfinishedLength } = this.localRuns;
    let excess = unfinishedLength + (await totalOf(this.database, ENDED)) - this.retention.totalLength;
    while (excess > 0) {
      const runs = await this.database.attempt((db) => oldestRuns(db).execute());
      if (runs.length === 0) return;
      const dropped: string[] = [];
      for (const { id, log_length: length } of runs) {
        if (excess <= 0) break;
        dropped.push(id);
        excess -= length ?? 0;
      }
      await this.erasure.removeRuns(dropped);
    }
  }

  async #limitSessions(): Promise<void> {
    let excess = (await totalOf(this.database, SESSIONS)) - this.retention.sessionsLength;
    while (excess > 0) {
      const [session] = await this.database.attempt((db) => idleSessions(db).limit(1).execute());
      if (!session) return;
      const removed = await this.erasure.removeTurns(session.key, excess);
      excess -= removed;
      if (session.length <= removed) await this.erasure.removeSession(session.key, 0);
    }
  }
}

function report(error: unknown): void {
  // An outage was logged already.
  if (error instanceof QueryError && error.code === 'unavailable') return;
  const message = 'Runs, sessions or files that exceed the retention could not be dropped';
  new Logger('SqlRunStore').error(message, (error as Error).stack);
}

function oldestRuns(db: Db) {
  return db
    .selectFrom('runs')
    .select(['id', 'log_length'])
    .where('ended_at', 'is not', null)
    .orderBy('ended_at')
    .limit(BATCH);
}

/** The sessions that were unused for longest, of those without an unfinished run. */
function idleSessions(db: Db) {
  return db
    .selectFrom('sessions')
    .select(['key', 'length'])
    .where((of) =>
      of.not(
        of.exists(
          of
            .selectFrom('runs')
            .select('runs.id')
            .whereRef('runs.session_key', '=', 'sessions.key')
            .where('runs.ended_at', 'is', null),
        ),
      ),
    )
    .orderBy('used_at')
    .limit(BATCH);
}
