import type { ExpressionBuilder } from 'kysely';
import { QueryError, runBusy, sessionBusy } from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import type { Driver } from '../drivers/driver.js';
import type { SqlFileStore } from '../files/sql-file-store.js';
import { keyOf } from '../schema/keys.js';
import type { Db, Tables } from '../schema/tables.js';
import type { LocalRuns } from './local-runs.js';
import type { LogWriter } from './log-writer.js';
import { isRunId } from '../rows/run-rows.js';
import { removeParts, removeTurns } from '../rows/turn-removal.js';
import { addUsage, removeSessionOfUsage } from '../rows/usage-rows.js';

/**
 * The most that one transaction removes. Limits, because on SQLite every write waits for the transactions before it, and what
 * is removed is overwritten.
 */
export const REMOVED = { runs: 20, segments: 100, turns: 50, length: 256 * 1024 };

/** A session whose turns are at most this long is removed in one transaction, unless it has many runs. */
const WHOLE_SESSION = 64 * 1024;

/** Removes sessions, turns and runs that have ended, in small steps. */
export class Erasure {
  constructor(
    private readonly database: Database,
    private readonly localRuns: LocalRuns,
    private readonly files: SqlFileStore,
    private readonly writer: LogWriter,
  ) {}

  /**
   * Erases a session with its turns, runs, logs, and the files that no fork has. False if the owner has no such session.
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
    await this.#purge(hidden.digests);
    return true;
  }

  /**
   * Erases a run without a session. False if the owner has no such run.
   *
   * @throws {QueryError} `session_busy` · `unavailable`
   */
  async eraseRun(owner: string, runId: string): Promise<boolean> {
    if (!isRunId(runId)) return false;
    const found = await this.database.attempt((db) =>
      db
        .selectFrom('runs')
        .select((run) => isBusy(run).as('isBusy'))
        .where('id', '=', runId)
        .where('owner', '=', JSON.stringify(owner))
        .where('session_key', 'is', null)
        .executeTakeFirst(),
    );
    if (!found) return false;
    if (found.isBusy) throw runBusy();
    await this.#purge(await this.removeRuns([runId]));
    return true;
  }

  /** Removes files that nothing needs any more, and what was deleted from the disk too. */
  async #purge(digests: string[]): Promise<void> {
    await this.files.removeUnused(digests);
    await this.writer.moveAll();
    await this.database.attempt(() => this.database.driver.purge());
  }

  /**
   * Removes a session with its turns, runs and logs. If it is longer than the excess, only its oldest turns are removed, which
   * are at least as long as the excess. The sweep of files removes its files. A long session loses its oldest turns and some
   * runs first. A session that is in use again stays.
   *
   * @param length of its turns
   * @returns how much was removed
   * @throws {QueryError} `unavailable`
   */
  async removeSession(sessionKey: string, length: number, excess: number): Promise<number> {
    const kept = length > excess ? length - excess : WHOLE_SESSION;
    let rest = length;
    while (rest > kept) {
      const removed = await this.#removeTurns(sessionKey, rest - kept);
      // There were no turns any more: another process has erased them.
      rest = removed === 0 ? 0 : rest - removed;
    }
    if (length > excess && rest > 0) return length - rest;
    for (;;) {
      const runs = await this.database.attempt((db) =>
        db
          .selectFrom('runs')
          .select('id')
          .where('session_key', '=', sessionKey)
          .where('ended_at', 'is not', null)
          .limit(REMOVED.runs)
          .execute(),
      );
      if (runs.length < REMOVED.runs) break;
      await this.removeRuns(runs.map(({ id }) => id));
    }
    const hidden = await this.#hideSession(sessionKey).catch((error: unknown) => {
      if (!(error instanceof QueryError && error.code === 'session_busy')) throw error;
    });
    if (hidden) await this.removeRuns(hidden.runIds);
    return length;
  }

  /** Removes the oldest turns of a session: at least `length` characters, or what one transaction may remove. Returns how much. */
  #removeTurns(sessionKey: string, length: number): Promise<number> {
    return this.database.attempt(async (db) => {
      // Another process may remove or erase them at the same time.
      await this.database.driver.lock(db, `session ${sessionKey}`);
      const oldest = await db
        .selectFrom('turns')
        .select(['number', 'length'])
        .where('session_key', '=', sessionKey)
        .orderBy('number')
        .limit(REMOVED.turns)
        .execute();
      const removed = firstOf(oldest, Math.min(length, REMOVED.length));
      if (removed.length === 0) return 0;
      await removeTurns(db, this.database.driver, sessionKey, { upTo: removed.at(-1)!.number });
      const removedLength = lengthOf(removed);
      await db
        .updateTable('sessions')
        .set((of) => ({ length: of('length', '-', removedLength) }))
        .where('key', '=', sessionKey)
        .execute();
      return removedLength;
    }, 'transaction');
  }

  /** Returns the digests of the files that runs without a session had. */
  async removeRuns(runIds: string[]): Promise<string[]> {
    const { database } = this;
    const digests: string[] = [];
    this.localRuns.dropRemoved(runIds);
    for (let i = 0; i < runIds.length;) {
      const some = runIds.slice(i, i + REMOVED.runs);
      const remove = (db: Db) => removeRunsFrom(db, database.driver, some);
      const removed = await database.attempt(remove, 'transaction');
      if (!removed) continue;
      digests.push(...removed);
      i += REMOVED.runs;
    }
    return digests;
  }

  /**
   * Removes a session and its turns in one transaction, and makes its runs invisible to every owner.
   *
   * @returns the runs, and the digests of the files, that are still to be removed; undefined if there is no such session
   * @throws {QueryError} `session_busy`
   */
  #hideSession(sessionKey: string): Promise<{ runIds: string[]; digests: string[] } | undefined> {
    return this.database.attempt(async (db) => {
      await this.database.driver.lock(db, `session ${sessionKey}`);
      const runs = await db
        .selectFrom('runs')
        .select((run) => ['id', isBusy(run).as('isBusy')])
        .where('session_key', '=', sessionKey)
        .execute();
      if (runs.some((run) => run.isBusy)) throw sessionBusy();
      const digests = await removeTurns(db, this.database.driver, sessionKey);
      const erased = await db
        .deleteFrom('sessions')
        .where('key', '=', sessionKey)
        .returning('owner_hash')
        .executeTakeFirst();
      if (!erased) return undefined;
      await removeSessionOfUsage(db, this.database.driver, erased.owner_hash, sessionKey);
      await db
        .updateTable('runs')
        .set({ owner: null, session_key: null, idempotency_key: null, ended_at: 0 })
        .where('session_key', '=', sessionKey)
        .execute();
      return { runIds: runs.map(({ id }) => id), digests };
    }, 'transaction');
  }
}

/** Whether a run has not ended, and is not one of a process that is gone: such a run is never written again. */
function isBusy(of: ExpressionBuilder<Tables, 'runs'>) {
  const alive = of.selectFrom('processes').select('processes.id');
  return of.and([of('ended_at', 'is', null), of.or([of('process', '=', ''), of('process', 'in', alive)])]);
}

/** The first rows that have a length together: at least one, if there is one. */
export function firstOf<Row extends { length: number }>(rows: Row[], length: number): Row[] {
  let rest = length;
  return rows.filter((row) => {
    if (rest <= 0) return false;
    rest -= row.length;
    return true;
  });
}

export function lengthOf(rows: { length: number }[]): number {
  return rows.reduce((sum, { length }) => sum + length, 0);
}

/**
 * Removes the oldest segments of logs.
 *
 * @param end only segments that end up to here are removed, in characters since the beginning of their log
 * @returns whether there may be more to remove
 */
export async function removeSegments(db: Db, runIds: string[], end = Infinity): Promise<boolean> {
  const oldest = await db
    .selectFrom('log')
    .select(['run_id', 'last', 'end_offset'])
    .select((of) => of('end_offset', '-', of.ref('start_offset')).as('length'))
    .where('run_id', 'in', runIds)
    .orderBy('run_id')
    .orderBy('last')
    .limit(REMOVED.segments)
    .execute();
  const removable = oldest.filter((segment) => segment.end_offset <= end);
  const removed = firstOf(removable, REMOVED.length);
  if (removed.length === 0) return false;
  const newest = new Map(removed.map((segment) => [segment.run_id, segment.last]));
  await db
    .deleteFrom('log')
    .where((of) =>
      of.or([...newest].map(([runId, last]) => of.and([of('run_id', '=', runId), of('last', '<=', last)]))),
    )
    .execute();
  return removed.length < removable.length || removable.length === REMOVED.segments;
}

/** Removes runs and their logs, as far as one transaction may do that. Returns the digests of files when all were removed. */
async function removeRunsFrom(db: Db, driver: Driver, runIds: string[]): Promise<string[] | undefined> {
  if (await removeSegments(db, runIds)) return undefined;
  await addUsage(db, driver, (run) => run('id', 'in', runIds));
  // The turn of a session still needs the files, also that of a fork whose source is erased.
  const alone = db.selectFrom('runs').select('id').where('id', 'in', runIds).where('session_key', 'is', null);
  const digests = await removeParts(db, alone);
  await db.deleteFrom('requests').where('run_id', 'in', runIds).execute();
  await db.deleteFrom('metadata').where('run_id', 'in', runIds).execute();
  await db.deleteFrom('deliveries').where('run_id', 'in', runIds).execute();
  await db.deleteFrom('runs').where('id', 'in', runIds).execute();
  return digests;
}
