import { sql } from 'kysely';
import { type Fork, refuseToFork, type SessionRecord, sessionNotFound } from '../../query/index.js';
import type { Driver } from '../drivers/driver.js';
import { keyOf, ownerHashOf } from '../schema/keys.js';
import type { Db } from '../schema/tables.js';
import { REPLACED, valueOf } from '../rows/run-rows.js';
import { removeTurns } from '../rows/turn-removal.js';

/** What a new session begins with that is no fork. */
const EMPTY = { title: null, turns: 0 };

/** The number of the newest turn of a session; 0 if there is no session. */
export async function newestTurn(db: Db, sessionKey: string): Promise<number> {
  const session = await db
    .selectFrom('sessions')
    .select('turns')
    .where('key', '=', sessionKey)
    .executeTakeFirst();
  return session?.turns ?? 0;
}

/** The run of the newest turn of a session; undefined if there is none. */
export async function newestRun(db: Db, sessionKey: string): Promise<string | undefined> {
  const turn = await db
    .selectFrom('turns')
    .select('run_id')
    .where('session_key', '=', sessionKey)
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst();
  return turn?.run_id;
}

/**
 * Removes the turns of a session after a number. This is a part of a transaction that has locked the session. The contents of
 * files that nothing uses any more are left to the sweep of files.
 */
export async function replaceTurns(
  db: Db,
  driver: Driver,
  sessionKey: string,
  afterTurn: number,
): Promise<void> {
  await removeTurns(db, driver, sessionKey, { after: afterTurn });
  await db
    .updateTable('sessions')
    .set({
      turns: afterTurn,
      length: lengthOfTurns(db, sessionKey),
      // The new query gives a session its title if it has no other turn.
      ...(afterTurn === 0 && { title: null }),
    })
    .where('key', '=', sessionKey)
    .execute();
}

/**
 * Removes the turn of a run and those after it; a run that has not ended gets none. This is a part of a transaction that has
 * locked the session.
 */
export async function replaceRun(
  db: Db,
  driver: Driver,
  sessionKey: string,
  { id, isUnfinished }: { id: string; isUnfinished: boolean },
): Promise<void> {
  if (isUnfinished) {
    await db.updateTable('runs').set({ cancelled: REPLACED }).where('id', '=', id).execute();
    // The new query gives a session its title if it has no other turn.
    const withoutTurns = db.updateTable('sessions').where('key', '=', sessionKey).where('turns', '=', 0);
    return void (await withoutTurns.set({ title: null }).execute());
  }
  const turn = await db
    .selectFrom('turns')
    .select('number')
    .where('session_key', '=', sessionKey)
    .where('run_id', '=', id)
    .executeTakeFirst();
  if (turn) await replaceTurns(db, driver, sessionKey, turn.number - 1);
}

/**
 * Makes the session of an admission, which begins with turns of another one, unless the owner has it already. This is a part of a
 * transaction that has locked both. It refuses before it writes anything.
 *
 * @throws {QueryError} `not_found`: there is no such other session · see `refuseToFork`
 */
export async function beginSession(
  db: Db,
  driver: Driver,
  owner: string,
  fork: Fork,
  now: number,
): Promise<void> {
  const key = keyOf(owner, fork.newId);
  const session = await db.selectFrom('sessions').select('key').where('key', '=', key).executeTakeFirst();
  if (session) return;
  if (!(await forkSession(db, driver, owner, fork, now))) throw sessionNotFound();
  // Its first run takes the first position: an admission that is undone removes the session that it has made.
  await db.updateTable('sessions').set({ queue_positions: 0 }).where('key', '=', key).execute();
}

/**
 * Makes a session that begins with the first turns of another one; see `RunStore.fork`. This is the body of one transaction.
 *
 * @throws {QueryError} see `refuseToFork`
 */
export async function forkSession(
  db: Db,
  driver: Driver,
  owner: string,
  fork: Fork,
  now: number,
): Promise<SessionRecord | undefined> {
  const { sessionId, afterTurn, newId } = fork;
  const newKey = keyOf(owner, newId);
  const sourceKey = sessionId === undefined ? newKey : keyOf(owner, sessionId);
  await driver.lock(db, `session ${sourceKey}`, `session ${newKey}`);
  const found = await db
    .selectFrom('sessions')
    .select(['key', 'title', 'turns'])
    .where('key', 'in', [sourceKey, newKey])
    .execute();
  const source = sessionId === undefined ? EMPTY : found.find(({ key }) => key === sourceKey);
  if (!source) return undefined;
  refuseToFork(
    fork,
    source.turns,
    found.some(({ key }) => key === newKey),
  );
  const title = afterTurn === 0 ? null : source.title;
  await db
    .insertInto('turns')
    .columns(['session_key', 'number', 'run_id', 'length', 'page_length', 'turn'])
    .expression((of) =>
      of
        .selectFrom('turns')
        .select(sql<string>`cast(${newKey} as text)`.as('session_key'))
        .select(['number', 'run_id', 'length', 'page_length', 'turn'])
        .where('session_key', '=', sourceKey)
        .where('number', '<=', afterTurn),
    )
    .execute();
  await db
    .insertInto('sessions')
    .values({
      key: newKey,
      owner: JSON.stringify(owner),
      owner_hash: ownerHashOf(owner),
      id: JSON.stringify(newId),
      title,
      // As if its first run had been admitted: an admission that is undone removes the session that it has made.
      queue_positions: 1,
      turns: afterTurn,
      length: lengthOfTurns(db, newKey),
      used_at: now,
    })
    .execute();
  return { id: newId, title: valueOf(title, 'a session'), turns: afterTurn, usedAt: now, active: undefined };
}

/** The length of the turns that a session has at that moment. */
function lengthOfTurns(db: Db, sessionKey: string) {
  return db
    .selectFrom('turns')
    .select((of) => sql<number>`coalesce(${of.fn.sum('length')}, 0)`.as('length'))
    .where('session_key', '=', sessionKey);
}
