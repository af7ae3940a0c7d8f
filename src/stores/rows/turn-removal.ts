import type { SelectQueryBuilder } from 'kysely';
import type { Driver } from '../drivers/driver.js';
import type { Db, Tables } from '../schema/tables.js';

/*
 * A turn may be in several sessions: a fork has the rows of the turns that it begins with, of the same runs. The files and long
 * texts of a run are there once, and belong to all its turns.
 */

/**
 * Removes turns of a session, with those of their files and long texts that no other session has. This is a part of a
 * transaction that has locked the session.
 *
 * @param numbers of the turns: greater than `after`, up to `upTo`. Default: all
 * @returns the digests of the files that these turns do not need any more, each once
 */
export async function removeTurns(
  db: Db,
  driver: Driver,
  sessionKey: string,
  { after = 0, upTo = Number.MAX_SAFE_INTEGER }: { after?: number; upTo?: number } = {},
): Promise<string[]> {
  await lockIfShared(db, driver, sessionKey);
  const turns = db
    .selectFrom('turns')
    .select('run_id')
    .where('session_key', '=', sessionKey)
    .where('number', '>', after)
    .where('number', '<=', upTo);
  const digests = await removeParts(db, turns, sessionKey);
  await db
    .deleteFrom('turns')
    .where('session_key', '=', sessionKey)
    .where('number', '>', after)
    .where('number', '<=', upTo)
    .execute();
  return digests;
}

/**
 * Two transactions that remove the same turn from two sessions at the same time would both leave its parts to the other one. What
 * is not shared at present is not shared before the end of the transaction: only a fork of the session, which is locked, does that.
 */
async function lockIfShared(db: Db, driver: Driver, sessionKey: string): Promise<void> {
  if (!driver.isShared) return;
  const shared = await db
    .selectFrom('sessions')
    .select('owner_hash')
    .where('key', '=', sessionKey)
    .where((of) =>
      of.exists(
        of
          .selectFrom('turns')
          .innerJoin('turns as others', 'others.run_id', 'turns.run_id')
          .select('others.run_id')
          .where('turns.session_key', '=', sessionKey)
          .where('others.session_key', '<>', sessionKey),
      ),
    )
    .executeTakeFirst();
  if (shared) await driver.lock(db, `shared turns ${shared.owner_hash}`);
}

/**
 * Removes the files and long texts of the queries and answers of runs, but not of those that have a turn.
 *
 * @param sessionKey the session whose turns do not count, because they are removed too. Default: all count
 * @returns the digests of the files, each once
 */
export async function removeParts(
  db: Db,
  runIds: string[] | SelectQueryBuilder<Tables, keyof Tables, Record<string, string>>,
  sessionKey = '',
): Promise<string[]> {
  const used = db.selectFrom('turns').select('run_id').where('session_key', '<>', sessionKey);
  const removed = <Table extends 'file_uses' | 'files' | 'texts'>(table: Table) =>
    db
      .deleteFrom(table as 'files')
      .where('run_id', 'in', runIds)
      .where((of) =>
        of.not(of.exists(used.whereRef('turns.run_id', '=', of.ref(`${table as 'files'}.run_id`)))),
      );
  const uses = await removed('file_uses').returning('sha256').execute();
  await removed('files').execute();
  await removed('texts').execute();
  return [...new Set(uses.map(({ sha256 }) => sha256))];
}
