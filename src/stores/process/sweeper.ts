import { KEPT_LENGTH } from '../../query/index.js';
import { type Database, logFault } from '../drivers/database.js';
import { totalOf } from '../drivers/totals.js';
import type { FileSweeper } from '../files/file-sweeper.js';
import type { Db } from '../schema/tables.js';
import type { Lease } from './lease.js';
import type { LocalRuns } from './local-runs.js';
import type { LogWriter } from './log-writer.js';
import { type Erasure, firstOf, lengthOf, removeSegments } from './erasure.js';
import type { StoredRetention } from './retention-options.js';
import type { UsageSums } from './usage-sums.js';

const SWEEP_MS = 60_000;
const BATCH = 100;
/** A log that exceeds its limit is trimmed to this share of the limit, so that not every commit has to trim it. */
const TRIMMED_SHARE = 0.75;

const ANY_TIME = Number.MAX_SAFE_INTEGER;

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
    private readonly usage: UsageSums,
    private readonly writer: LogWriter,
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
        const { runMs, sessionMs, totalLength, sessionsLength } = this.retention;
        await this.#dropRuns(now - runMs);
        await this.#dropSessions(now - sessionMs);
        const length = this.localRuns.unfinishedLength + (await totalOf(this.database, 'runs'));
        await this.#dropRuns(ANY_TIME, length - totalLength);
        await this.#dropSessions(ANY_TIME, (await totalOf(this.database, 'sessions')) - sessionsLength);
        await this.files.sweep();
        await this.usage.addUp();
      } finally {
        await this.lease.endSweep();
      }
    }
    await this.#trimLocal();
    // Nothing of a run that was dropped stays in it.
    await this.writer.moveAll();
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
      while (await this.database.attempt((db) => removeSegments(db, [runId], trimmedOffset), 'transaction'));
    } catch (error) {
      run.trimmedOffset = before;
      throw error;
    }
    while (run.endOffset - run.tail.length < run.trimmedOffset && run.tail.trim());
  }

  /** Drops runs that have ended by a time, the oldest first, as long as there is an excess of length. */
  async #dropRuns(before: number, excess = Infinity): Promise<void> {
    for (let rest = excess; rest > 0;) {
      const oldest = await this.database.attempt((db) => oldestRuns(db, before).execute());
      if (oldest.length === 0) return;
      const dropped = firstOf(oldest, rest);
      await this.erasure.removeRuns(dropped.map(({ id }) => id));
      rest -= lengthOf(dropped);
    }
  }

  /** Drops sessions that were not used after a time, in the same way. */
  async #dropSessions(before: number, excess = Infinity): Promise<void> {
    // A session that is used meanwhile is not the oldest any more.
    const limit = excess === Infinity ? BATCH : 1;
    for (let rest = excess; rest > 0;) {
      const oldest = await this.database.attempt((db) => idleSessions(db, before).limit(limit).execute());
      if (oldest.length === 0) return;
      for (const { key, length } of oldest) rest -= await this.erasure.removeSession(key, length, rest);
    }
  }
}

function report(error: unknown): void {
  logFault('Runs, sessions or files that exceed the retention could not be dropped', error);
}

function oldestRuns(db: Db, before: number) {
  return db
    .selectFrom('runs')
    .select((of) => ['id', of.fn.coalesce('log_length', of.lit(0)).as('length')])
    .where('ended_at', '<=', before)
    .orderBy('ended_at')
    .limit(BATCH);
}

/** The sessions that were unused for longest, of those without an unfinished run. */
function idleSessions(db: Db, before: number) {
  return db
    .selectFrom('sessions')
    .select(['key', 'length'])
    .where('used_at', '<=', before)
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
    .orderBy('used_at');
}
