import {
  type Admission,
  type Admitted,
  INTERRUPTED,
  isRepeated,
  recordOfAdmission,
  type LongText,
  placeOf,
  refuseBehind,
  refuseToFollow,
  refuseToReplace,
  refuseToWait,
  type RunRecord,
  type Superseded,
  supersedes,
} from '../../query/index.js';
import type { Driver } from '../drivers/driver.js';
import { insertFiles } from '../files/sql-file-store.js';
import { keyOf } from '../schema/keys.js';
import type { Db } from '../schema/tables.js';
import { insertRun } from './log-commit.js';
import type { NewRun } from '../rows/new-runs.js';
import {
  hasFreePlace,
  hasWaiting,
  lockOwners,
  nextRound,
  type OwnerRef,
  ownerRefOf,
  readQueue,
} from '../rows/queues.js';
import { beginSession, newestRun, newestTurn, replaceRun, replaceTurns } from '../steps/session-changes.js';
import { promoteAfter, queueOf, takeQueuePosition } from '../steps/session-queues.js';
import { holds } from '../rows/input-rows.js';
import { recordOf, selectRuns } from '../rows/run-rows.js';
import type { Outbox } from '../rows/outbox.js';
import { segmentsOf } from '../rows/segments.js';
import { endingOfIdle, finish, handOver } from '../steps/transitions.js';
import { removeParts, removeTurns } from '../rows/turn-removal.js';
import { insertTexts } from '../rows/turns.js';

/** So near to the limit of waiting runs, admissions are counted one after another. */
const NEAR_CAPACITY = 100;

/** Whether there is nothing to be read for an admission, and nothing to be written but the run. */
export function needsOnlyRun(admission: Admission): boolean {
  const { session, idempotency, mayStart, parts } = admission;
  const hasOnlyRun = mayStart && !session && !idempotency && !parts.some((part) => part.type === 'file');
  return hasOnlyRun && admission.notices(undefined).length === 0;
}

/**
 * Admits a query. This is the body of one transaction. It refuses before it writes anything, as group commits require.
 *
 * @param started the run, as it is if it starts at once
 * @param texts the texts that are cut in it
 * @param limit how many runs of the owner may execute
 * @throws {QueryError} see `RunStore.admit`
 */
export async function admit(
  db: Db,
  driver: Driver,
  admission: Admission,
  started: NewRun,
  texts: LongText[],
  limit: number,
  outbox: Outbox,
): Promise<Admitted> {
  const { created_at: now, idempotency_key: idempotencyKey, session_key: sessionKey } = started;
  const { session } = admission;
  const owner = ownerRefOf(admission.owner, started.module);
  let interrupted: RunRecord | undefined;
  if (idempotencyKey !== null) {
    await driver.lock(db, `idempotency ${idempotencyKey}`);
    const row = await selectRuns(db)
      .select('digest')
      .where('idempotency_key', '=', idempotencyKey)
      .executeTakeFirst();
    const run = row && recordOf(row);
    if (run && isRepeated(run, row.digest === started.digest)) return { run, created: false, ahead: [] };
    interrupted = run;
  }

  let ahead: RunRecord[] = [];
  if (sessionKey !== null) {
    const { fork } = session!;
    const source = fork?.sessionId === undefined ? [] : [`session ${keyOf(admission.owner, fork.sessionId)}`];
    await driver.lock(db, `session ${sessionKey}`, ...source);
    ahead = await queueOf(db, sessionKey);
  }
  const [first] = ahead;
  const replaced = session?.replaces;
  const isUnfinished = ahead.some(({ id }) => id === replaced);
  const afterTurn = session?.afterTurn;
  if (afterTurn !== undefined) refuseToReplace(afterTurn, ahead.length, await newestTurn(db, sessionKey!));
  if (session?.afterRun !== undefined)
    refuseToFollow(session.afterRun, ahead.length, await newestRun(db, sessionKey!));
  const isAsking = first?.status === 'input_required';
  const isSuperseded =
    session && isAsking && (first.id === replaced || supersedes(session, await holds(db, first.id)));
  if (isSuperseded) ahead.shift();
  const others = ahead.filter(({ id }) => id !== replaced);
  refuseBehind(others.length, admission, isAsking && !isSuperseded);
  const isFirst = ahead.length === 0;
  if (!admission.mayStart || !isFirst || limit !== Infinity) await lockOwners(db, driver, owner.key);
  const hasPlace = isFirst && (await hasFreePlace(db, owner, limit));
  const { starts, isReady, isDeferred } = placeOf(admission, ahead.length, hasPlace);
  let round = starts ? 0 : await roundInQueue(db, driver, owner, admission);

  if (session?.fork)
    await beginSession(db, driver, admission.owner, { ...session.fork, newId: session.id }, now);
  if (replaced !== undefined) await replaceRun(db, driver, sessionKey!, { id: replaced, isUnfinished });
  const superseded = isSuperseded ? await supersede(db, driver, first, now, limit, outbox) : undefined;
  // Its end may have made another run of the owner ready.
  if (superseded && isReady) round = await nextRound(db, owner);
  // Its caller was asked to send the query again: the idempotency key starts a new run.
  if (interrupted)
    await db.updateTable('runs').set({ idempotency_key: null }).where('id', '=', interrupted.id).execute();
  if (afterTurn !== undefined) await replaceTurns(db, driver, sessionKey!, afterTurn);
  const notices = admission.notices(starts ? undefined : ahead.length, isDeferred);
  const row: NewRun = {
    ...started,
    queue_position: sessionKey === null ? null : await takeQueuePosition(db, admission, sessionKey, now),
    ...(!starts && {
      status: 'waiting',
      started_at: null,
      process: '',
      owner_key: owner.key,
      ready_at: isReady ? now : null,
      round: isReady ? round : 0,
      deferred_at: isDeferred ? now : null,
    }),
  };
  await insertRun(db, driver, row, segmentsOf(row.id, { last: 0, endOffset: 0 }, notices));
  await insertTexts(db, admission.owner, row.id, texts);
  const files = admission.parts.filter((part) => part.type === 'file');
  if (files.length > 0) {
    await insertFiles(db, admission.owner, row.id, files);
    await db.updateTable('file_uses').set({ pinned_at: null }).where('run_id', '=', row.id).execute();
  }
  const run = { ...recordOfAdmission(admission, starts, now), lastSeq: notices.length };
  return { run, created: true, ahead, superseded };
}

/** Ends the run of the session that asks. */
async function supersede(
  db: Db,
  driver: Driver,
  run: RunRecord,
  endedAt: number,
  limit: number,
  outbox: Outbox,
): Promise<Superseded | undefined> {
  const ending = endingOfIdle(run, { status: 'cancelled' }, endedAt);
  const ended = await finish(db, driver, { ...ending, outcome: 'superseded' }, () => limit, outbox);
  return ended && { run: ended.run, inputs: ended.inputs ?? [] };
}

/**
 * Removes a run as if it had never been admitted, unless another process executes it. This is the body of one transaction.
 *
 * @returns whether another run was promoted by that
 */
export async function undoAdmission(
  db: Db,
  driver: Driver,
  { runId, owner: name, session, module = '' }: Admission,
  process: string,
  now: number,
  limit: number,
): Promise<boolean> {
  const owner = ownerRefOf(name, module);
  if (session) await driver.lock(db, `session ${keyOf(name, session.id)}`);
  if (limit !== Infinity) await lockOwners(db, driver, owner.key);
  const run = await db
    .deleteFrom('runs')
    .where('id', '=', runId)
    .where((of) => of.or([of('status', '=', 'waiting'), of('process', '=', process)]))
    .returning(['session_key', 'queue_position'])
    .executeTakeFirst();
  if (!run) return false;
  await removeParts(db, [runId]);
  await db.deleteFrom('log').where('run_id', '=', runId).execute();
  await db.deleteFrom('metadata').where('run_id', '=', runId).execute();
  await db.deleteFrom('deliveries').where('run_id', '=', runId).execute();
  const next = await promoteAfter(db, driver, run, owner, limit, now);
  const { session_key: key, queue_position: position } = run;
  if (key !== null && position === 1) await removeSessionOfRun(db, driver, key);
  return next !== undefined;
}

/** Removes a session that was made with a run, with the turns that it began with, unless another run has used it. */
async function removeSessionOfRun(db: Db, driver: Driver, key: string): Promise<void> {
  const session = await db
    .selectFrom('sessions')
    .select('key')
    .where('key', '=', key)
    .where('queue_positions', '=', 1)
    .executeTakeFirst();
  if (!session) return;
  await removeTurns(db, driver, key);
  await db.deleteFrom('sessions').where('key', '=', key).execute();
}

/**
 * Returns a run to the queue whose handler was not called: a repeated query may have found it in another process already, whose
 * caller follows it. This is the body of one transaction.
 *
 * @returns whether it is in the queue by that
 */
export function returnAdmitted(
  db: Db,
  driver: Driver,
  { runId: id }: Admission,
  process: string,
  now: number,
  limit: number,
): Promise<boolean> {
  return handOver(db, driver, { id, attempt: 1, process }, () => limit, now, 'not called');
}

/**
 * Ends a run that may have replaced turns, which cannot be brought back, or that a repeated query may have found: it was
 * interrupted. Not if another process executes it. This is the body of one transaction.
 *
 * @returns whether another run was promoted by that
 */
export async function interruptAdmission(
  db: Db,
  driver: Driver,
  { runId: id }: Admission,
  process: string,
  endedAt: number,
  limit: number,
  outbox: Outbox,
): Promise<boolean> {
  const waiting = endingOfIdle({ id, attempt: 1 }, INTERRUPTED, endedAt);
  const ended =
    (await finish(db, driver, waiting, () => limit, outbox)) ??
    (await finish(db, driver, { ...waiting, process }, () => limit, outbox));
  return ended?.next !== undefined;
}

/**
 * Returns the round of a run that does not start at once, for the case that it is ready.
 *
 * @throws {QueryError} too many runs of the owner, or of its module, wait
 */
async function roundInQueue(db: Db, driver: Driver, owner: OwnerRef, admission: Admission): Promise<number> {
  const { maxWaiting, maxWaitingPerOwner = Infinity } = admission;
  if (maxWaitingPerOwner !== Infinity && (await hasWaiting(db, owner, maxWaitingPerOwner)))
    refuseToWait(admission, true, 0);
  let queue = await readQueue(db, owner);
  if (queue.waiting + NEAR_CAPACITY >= maxWaiting && queue.waiting < maxWaiting) {
    await driver.lock(db, `capacity ${owner.module}`);
    queue = await readQueue(db, owner);
  }
  refuseToWait(admission, false, queue.waiting);
  return queue.round;
}
