import { sessionBusy } from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import type { SqlFileStore } from '../files/sql-file-store.js';
import type { Db } from '../schema/tables.js';
import type { LocalRuns } from './local-runs.js';
import { keyOf } from './run-rows.js';

/** How many runs or turns one statement removes. A limit, so that other statements do not wait long. */
const BATCH = 100;
/** How many segments one statement removes. */
const SEGMENTS = 1_000;

/** Removes sessions, turns and runs that have ended, in small steps. */
export class Erasure {
  constructor(
    private readonly database: Database,
    private readonly localRuns: LocalRuns,
    private readonly files: SqlFileStore,
  ) {}

  /**
   * Erases a session with its turns, runs, logs and files. False if the owner has no such session.
   *
   * @throws {QueryError} `session_busy` · `unavailable`
   */
  async eraseSession(owner: string, sessionId: string): Promise<boolean> {
    // Afterwards, because the session may be hidden although the answer of the database was lost.
    const hidden = await this.#hideSession(keyOf(owner, sessionId)).finally(() =>
      this.localRuns.dropEnded(owner, sessionId),
    );
    if (!hidden) return false;
    await this.removeRuns(hidden.runIds);
    await this.files.removeUnused(hidden.digests);
    await this.database.attempt(() => this.database.driver.purge());
    return true;
  }

  /**
   * Removes a session with its turns, runs and logs. Its files are left to the sweep of files.
   *
   * @throws {QueryError} `session_busy` · `unavailable`
   */
  async removeSession(sessionKey: string): Promise<void> {
    const hidden = await this.#hideSession(sessionKey);
    if (hidden) await this.removeRuns(hidden.runIds);
  }

  /** Removes the oldest turns of a session: at least `length` characters, or a batch of turns. Returns what was removed. */
  removeTurns(sessionKey: string, length: number): Promise<number> {
    return this.database.attemptTransaction(async (db) => {
      const oldest = await db
        .selectFrom('turns')
        .select(['number', 'run_id', 'length'])
        .where('session_key', '=', sessionKey)
        .orderBy('number')
        .limit(BATCH)
        .execute();
      let removedLength = 0;
      const removed = oldest.filter((turn) => {
        if (removedLength >= length) return false;
        removedLength += turn.length;
        return true;
      });
      if (removed.length === 0) return 0;
      const runIds = removed.map((turn) => turn.run_id);
      await db
        .deleteFrom('turns')
        .where('session_key', '=', sessionKey)
        .where('number', '<=', removed.at(-1)!.number)
        .execute();
      await db.deleteFrom('file_uses').where('run_id', 'in', runIds).execute();
      await db.deleteFrom('texts').where('run_id', 'in', runIds).execute();
      await db
        .updateTable('sessions')
        .set((of) => ({ length: of('length', '-', removedLength) }))
        .where('key', '=', sessionKey)
        .execute();
      return removedLength;
    });
  }

  /** Removes runs and their logs. */
  async removeRuns(runIds: string[]): Promise<void> {
    for (const runId of runIds) {
      this.localRuns.drop(runId);
      while (await this.database.attempt((db) => removeSegments(db, runId)));
    }
    for (let i = 0; i < runIds.length; i += BATCH) {
      const batch = runIds.slice(i, i + BATCH);
      await this.database.attempt((db) => db.deleteFrom('runs').where('id', 'in', batch).execute());
    }
  }

  /**
   * Removes a session and its turns in one transaction, and makes its runs invisible to every owner.
   *
   * @returns the runs, and the digests of the files, that are still to be removed; undefined if there is no such session
   * @throws {QueryError} `session_busy`
   */
  #hideSession(sessionKey: string): Promise<{ runIds: string[]; digests: string[] } | undefined> {
    return this.database.attemptTransaction(async (db) => {
      await this.database.driver.lock(db, `session ${sessionKey}`);
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
      await db.deleteFrom('texts').where('run_id', 'in', turns).execute();
      await db.deleteFrom('turns').where('session_key', '=', sessionKey).execute();
      await db
        .updateTable('runs')
        .set({ owner: null, session_key: null, idempotency_key: null, ended_at: 0 })
        .where('session_key', '=', sessionKey)
        .execute();
      const erased = await db.deleteFrom('sessions').where('key', '=', sessionKey).executeTakeFirst();
      if (erased.numDeletedRows === 0n) return undefined;
      return { runIds: runs.map(({ id }) => id), digests: [...new Set(uses.map(({ sha256 }) => sha256))] };
    });
  }
}

/** Removes the oldest segments of a log. Returns whether there may be more. */
async function removeSegments(db: Db, runId: string): Promise<boolean> {
  const oldest = db
    .selectFrom('log')
    .select('last')
    .where('run_id', '=', runId)
    .orderBy('last')
    .limit(SEGMENTS);
  const { numDeletedRows } = await db
    .deleteFrom('log')
    .where('run_id', '=', runId)
    .where('last', 'in', oldest)
    .executeTakeFirst();
  return numDeletedRows === BigInt(SEGMENTS);
}
