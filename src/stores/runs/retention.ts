import { KEPT_LENGTH, type RetentionOptions, sessionBusy } from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import { keyOf } from './run-rows.js';
import type { Db } from '../schema/tables.js';
import type { SqlFileStore } from '../files/sql-file-store.js';
import type { Tails } from './tails.js';

/** So many rows are dropped at once at most, so that nobody waits long behind it. */
const BATCH = 100;
/** A log beyond its limit is trimmed to this share of it, so that it is not trimmed with every commit. */
const TRIMMED_SHARE = 0.75;

/** Drops what is to be kept no longer: by age, by length, and on demand. It works in small steps, each for itself. */
export class Retention {
  constructor(
    private readonly database: Database,
    private readonly tails: Tails,
    private readonly files: SqlFileStore,
    private readonly limits: RetentionOptions,
  ) {}

  /**
   * Erases a session with its turns, runs, logs and files. False if there is none.
   *
   * @throws {QueryError} `session_busy`
   */
  async erase(owner: string, sessionId: string): Promise<boolean> {
    const erased = await this.#takeAway(keyOf(owner, sessionId));
    if (!erased) return false;
    await this.#dropRuns(erased.runs);
    await this.files.collect(erased.files);
    return true;
  }

  /** Drops what is too old, and then the oldest of what is too much. */
  async sweep(): Promise<void> {
    const now = Date.now();
    await this.#sweepRuns(now - this.limits.runMs);
    await this.#sweepSessions(now - this.limits.sessionMs);
    await this.#boundLogs();
    await this.#boundSessions();
    await this.files.sweep();
  }

  /** Trims the log of a run that goes on, if it is longer than may be. */
  async trim(runId: string, limit: number = this.limits.logLength): Promise<void> {
    const run = this.tails.live.get(runId);
    if (!run || run.position - run.trimmedTo <= limit) return;
    const before = run.trimmedTo;
    const least = run.tail.newestLength + KEPT_LENGTH;
    const trimmedTo = Math.floor(run.position - Math.max(limit * TRIMMED_SHARE, least));
    if (trimmedTo <= before) return;
    // Set first, so that what is appended meanwhile does not have it done twice.
    run.trimmedTo = trimmedTo;
    try {
      await this.database.attempt((db) =>
        db.deleteFrom('log').where('run_id', '=', runId).where('position', '<=', run.trimmedTo).execute(),
      );
    } catch (error) {
      run.trimmedTo = before;
      throw error;
    }
    while (run.position - run.tail.length < run.trimmedTo && run.tail.trim());
  }

  async #sweepRuns(before: number): Promise<void> {
    for (;;) {
      const runs = await this.#oldestRuns((of) => of.where('ended_at', '<=', before));
      if (runs.length === 0) return;
      await this.#dropRuns(runs.map(({ id }) => id));
    }
  }

  async #boundLogs(): Promise<void> {
    const live = [...this.tails.live.values()];
    const going = live.reduce((sum, run) => sum + run.position - run.trimmedTo, 0);
    for (let excess = going + (await this.#endedLength()) - this.limits.totalLength; excess > 0;) {
      const runs = await this.#oldestRuns((of) => of);
      if (runs.length === 0) break;
      const dropped: string[] = [];
      for (const { id, log_length: length } of runs) {
        if (excess <= 0) break;
        dropped.push(id);
        excess -= length ?? 0;
      }
      await this.#dropRuns(dropped);
    }
    const share = going > this.limits.totalLength ? this.limits.totalLength / live.length : Infinity;
    for (const { id } of live) await this.trim(id, Math.min(share, this.limits.logLength));
  }

  async #sweepSessions(before: number): Promise<void> {
    for (;;) {
      const sessions = await this.#idleSessions((of) => of.where('used_at', '<=', before));
      if (sessions.length === 0) return;
      for (const { key } of sessions) await this.#dropRuns((await this.#takeAway(key))?.runs ?? []);
    }
  }

  async #boundSessions(): Promise<void> {
    let excess = (await this.#sessionsLength()) - this.limits.sessionsLength;
    while (excess > 0) {
      const [session] = await this.#idleSessions((of) => of.limit(1));
      if (!session) return;
      const dropped = await this.#dropTurns(session.key, excess);
      excess -= dropped;
      if (session.length <= dropped) await this.#dropRuns((await this.#takeAway(session.key))?.runs ?? []);
    }
  }

  async #endedLength(): Promise<number> {
    const row = await this.database.attempt((db) =>
      db
        .selectFrom('runs')
        .select((of) => of.fn.sum<string | number | null>('log_length').as('length'))
        .executeTakeFirst(),
    );
    return Number(row?.length ?? 0);
  }

  async #sessionsLength(): Promise<number> {
    const row = await this.database.attempt((db) =>
      db
        .selectFrom('sessions')
        .select((of) => of.fn.sum<string | number | null>('length').as('length'))
        .executeTakeFirst(),
    );
    return Number(row?.length ?? 0);
  }

  #oldestRuns(restrict: (query: ReturnType<typeof endedRuns>) => ReturnType<typeof endedRuns>) {
    return this.database.attempt((db) => restrict(endedRuns(db)).execute());
  }

  #idleSessions(restrict: (query: ReturnType<typeof idleSessions>) => ReturnType<typeof idleSessions>) {
    return this.database.attempt((db) => restrict(idleSessions(db)).execute());
  }

  /** Drops the oldest turns of a session until `excess` characters are gone, or a batch of turns. */
  #dropTurns(sessionKey: string, excess: number): Promise<number> {
    return this.database.attemptTransaction(async (db) => {
      const turns = await db
        .selectFrom('turns')
        .select(['number', 'run_id', 'length'])
        .where('session_key', '=', sessionKey)
        .orderBy('number')
        .limit(BATCH)
        .execute();
      let length = 0;
      const dropped = turns.filter((turn) => {
        if (length >= excess) return false;
        length += turn.length;
        return true;
      });
      if (dropped.length === 0) return 0;
      const runIds = dropped.map((turn) => turn.run_id);
      await db
        .deleteFrom('turns')
        .where('session_key', '=', sessionKey)
        .where('number', '<=', dropped.at(-1)!.number)
        .execute();
      await db.deleteFrom('file_uses').where('run_id', 'in', runIds).execute();
      await db
        .updateTable('sessions')
        .set((of) => ({ length: of('length', '-', length) }))
        .where('key', '=', sessionKey)
        .execute();
      return length;
    });
  }

  /** Takes a session out of sight, in one step. What remains to be dropped of it: its runs, and perhaps the contents of its files. */
  #takeAway(sessionKey: string): Promise<{ runs: string[]; files: string[] } | undefined> {
    return this.database.attemptTransaction(async (db) => {
      await this.database.backend.lock(db, `session ${sessionKey}`);
      const runs = await db
        .selectFrom('runs')
        .select(['id', 'ended_at'])
        .where('session_key', '=', sessionKey)
        .execute();
      if (runs.some((run) => run.ended_at === null)) throw sessionBusy();
      const turns = db.selectFrom('turns').select('run_id').where('session_key', '=', sessionKey);
      const uses = await db
        .deleteFrom('file_uses')
        .where('run_id', 'in', turns)
        .returning('sha256')
        .execute();
      await db.deleteFrom('turns').where('session_key', '=', sessionKey).execute();
      await db
        .updateTable('runs')
        .set({ owner: null, session_key: null, idempotency_key: null, ended_at: 0 })
        .where('session_key', '=', sessionKey)
        .execute();
      const erased = await db.deleteFrom('sessions').where('key', '=', sessionKey).executeTakeFirst();
      if (erased.numDeletedRows === 0n) return undefined;
      return { runs: runs.map(({ id }) => id), files: [...new Set(uses.map(({ sha256 }) => sha256))] };
    });
  }

  async #dropRuns(runIds: string[]): Promise<void> {
    for (const runId of runIds) {
      this.tails.drop(runId);
      while (await this.database.attempt((db) => dropStretches(db, runId)));
    }
    for (let i = 0; i < runIds.length; i += BATCH) {
      await this.database.attempt((db) =>
        db
          .deleteFrom('runs')
          .where('id', 'in', runIds.slice(i, i + BATCH))
          .execute(),
      );
    }
  }
}

/** Drops the oldest stretches of a log. Returns whether there may be more. */
async function dropStretches(db: Db, runId: string): Promise<boolean> {
  const some = db
    .selectFrom('log')
    .select('last')
    .where('run_id', '=', runId)
    .orderBy('last')
    .limit(10 * BATCH);
  const { numDeletedRows } = await db
    .deleteFrom('log')
    .where('run_id', '=', runId)
    .where('last', 'in', some)
    .executeTakeFirst();
  return numDeletedRows === BigInt(10 * BATCH);
}

/** The runs that ended first. */
function endedRuns(db: Db) {
  return db
    .selectFrom('runs')
    .select(['id', 'log_length'])
    .where('ended_at', 'is not', null)
    .orderBy('ended_at')
    .limit(BATCH);
}

/** The sessions that were not used for longest, of those without an unfinished run. */
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
