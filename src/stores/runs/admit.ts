import {
  type Admission,
  type Admitted,
  isRepeated,
  placeOf,
  refuseBehind,
  refuseToWait,
  type RunRecord,
  titleOf,
} from '../../query/index.js';
import type { Driver } from '../drivers/driver.js';
import { insertFiles } from '../files/sql-file-store.js';
import { keyOf, ownerHashOf } from '../schema/keys.js';
import type { Db } from '../schema/tables.js';
import { removeParts } from './erasure.js';
import {
  countWaiting,
  hasWaiting,
  loadOf,
  lockOwners,
  nextRound,
  type OwnerRef,
  ownerRefOf,
} from './owner-queue.js';
import { insertRuns, recordOf, type RunToInsert, selectRuns } from './run-rows.js';
import { insertSegments, segmentsOf } from './segments.js';
import { promoteAfter, queueOf, type SessionRow, takeQueuePosition } from './session-queue.js';
import type { WrittenQuery } from './stored-query.js';
import { insertTexts } from './turns.js';

/** So near to the limit of waiting runs, admissions are counted one after another. */
const NEAR_CAPACITY = 100;

/** Who admits, and when. */
export interface Admitting {
  /** The process that executes the run if it starts at once. */
  process: string;
  now: number;
  /** How many runs of the owner may execute. */
  limit: number;
}

/** Whether there is nothing to be read for an admission, and nothing to be written but the run. */
export function needsOnlyRun(admission: Admission): boolean {
  const { session, idempotency, mayStart, parts } = admission;
  const hasOnlyRun = mayStart && !session && !idempotency && !parts.some((part) => part.type === 'file');
  return hasOnlyRun && admission.notices(undefined).length === 0;
}

/** The run that is made of a query for which `needsOnlyRun` holds, and its row. */
export function startedAlone(
  { process, now, limit }: Admitting,
  admission: Admission,
  query: WrittenQuery,
): { run: RunRecord; row: RunToInsert } {
  const run = newRun(admission, now, true);
  const { owner, module = '' } = admission;
  const owner_key = limit === Infinity ? null : ownerRefOf(owner, module).key;
  return { run, row: { ...rowOf(run, admission, query), owner_key, process, ready_at: now } };
}

/**
 * Admits a query. This is the body of one transaction. It refuses before it writes anything, as group commits require.
 *
 * @param query the query of the admission as the tables have it
 * @throws {QueryError} see `RunStore.admit`
 */
export async function admit(
  db: Db,
  driver: Driver,
  { process, now, limit }: Admitting,
  admission: Admission,
  query: WrittenQuery,
): Promise<Admitted> {
  const { session, idempotency, module = '' } = admission;
  const owner = ownerRefOf(admission.owner, module);
  let interrupted: RunRecord | undefined;
  const idempotencyKey = idempotency ? keyOf(admission.owner, idempotency.key) : null;
  if (idempotencyKey !== null) {
    await driver.lock(db, `idempotency ${idempotencyKey}`);
    const row = await selectRuns(db)
      .select('digest')
      .where('idempotency_key', '=', idempotencyKey)
      .executeTakeFirst();
    const run = row && recordOf(row);
    if (run && isRepeated(run, row.digest === JSON.stringify(idempotency!.digest)))
      return { run, created: false, ahead: [] };
    interrupted = run;
  }

  const sessionKey = session ? keyOf(admission.owner, session.id) : null;
  let ahead: RunRecord[] = [];
  if (sessionKey !== null) {
    await driver.lock(db, `session ${sessionKey}`);
    ahead = await queueOf(db, sessionKey);
  }
  refuseBehind(ahead.length, admission);
  const isFirst = ahead.length === 0;
  if (!admission.mayStart || !isFirst || limit !== Infinity) await lockOwners(db, driver, [owner]);
  const hasPlace = isFirst && (await hasFreePlace(db, owner, limit));
  const { starts, isReady, isDeferred } = placeOf(admission, ahead.length, hasPlace);
  if (!starts) await mayWait(db, driver, owner, admission);

  if (interrupted) await forgetKey(db, interrupted.id);
  const notices = admission.notices(starts ? undefined : ahead.length, isDeferred);
  const record = { ...newRun(admission, now, starts), lastSeq: notices.length };
  const row: RunToInsert = {
    ...rowOf(record, admission, query),
    session_key: sessionKey,
    queue_position:
      sessionKey === null ? null : await takeQueuePosition(db, sessionOf(admission, sessionKey), now),
    idempotency_key: idempotencyKey,
    owner_key: starts && limit === Infinity ? null : owner.key,
    process: starts ? process : '',
    ready_at: isReady ? now : null,
    round: isReady && !starts ? await nextRound(db, owner) : 0,
    deferred_at: isDeferred ? now : null,
  };
  await insertRuns(db, driver, [row]);
  if (notices.length > 0) {
    await insertSegments(db, driver, segmentsOf({ id: record.id, lastSeq: 0, endOffset: 0 }, notices));
  }
  await insertTexts(db, admission.owner, record.id, query.texts);
  const files = admission.parts.filter((part) => part.type === 'file');
  if (files.length > 0) {
    await insertFiles(db, admission.owner, record.id, files);
    await db.updateTable('file_uses').set({ pinned_at: null }).where('run_id', '=', record.id).execute();
  }
  return { run: record, created: true, ahead };
}

/**
 * Removes a run as if it had never been admitted, unless another process executes it. This is the body of one transaction.
 *
 * @returns whether another run was promoted by that
 */
export async function undoAdmission(
  db: Db,
  driver: Driver,
  { process, now, limit }: Admitting,
  { runId, owner: name, session, module = '' }: Admission,
): Promise<boolean> {
  const owner = ownerRefOf(name, module);
  if (session) await driver.lock(db, `session ${keyOf(name, session.id)}`);
  if (limit !== Infinity) await lockOwners(db, driver, [owner]);
  const run = await db
    .deleteFrom('runs')
    .where('id', '=', runId)
    .where('ended_at', 'is', null)
    .where((of) => of.or([of('status', '=', 'waiting'), of('process', '=', process)]))
    .returning(['session_key', 'queue_position'])
    .executeTakeFirst();
  if (!run) return false;
  await removeParts(db, [runId]);
  await db.deleteFrom('log').where('run_id', '=', runId).execute();
  const { session_key: sessionKey, queue_position: queuePosition } = run;
  const next = await promoteAfter(db, driver, { sessionKey, queuePosition, owner }, limit, now);
  // The session was made with this run.
  if (sessionKey !== null && queuePosition === 1) {
    await db.deleteFrom('sessions').where('key', '=', sessionKey).where('queue_positions', '=', 1).execute();
  }
  return next !== undefined;
}

function newRun(admission: Admission, now: number, starts: boolean): RunRecord {
  const { runId, owner, session, detached, trace, path } = admission;
  return {
    id: runId,
    owner,
    sessionId: session?.id,
    status: starts ? 'running' : 'waiting',
    createdAt: now,
    startedAt: starts ? now : undefined,
    endedAt: undefined,
    lastSeq: 0,
    end: undefined,
    attempt: 1,
    detached,
    trace,
    path,
  };
}

/** The columns of a new run, as far as they follow from its admission. */
function rowOf(run: RunRecord, { session, idempotency, module = '' }: Admission, query: WrittenQuery) {
  return {
    id: run.id,
    owner: JSON.stringify(run.owner),
    owner_hash: ownerHashOf(run.owner),
    session_key: null,
    session: session ? JSON.stringify(session.id) : null,
    queue_position: null,
    status: run.status,
    created_at: run.createdAt,
    started_at: run.startedAt ?? null,
    parts: query.parts,
    kwargs: query.kwargs,
    idempotency_key: null,
    digest: idempotency ? JSON.stringify(idempotency.digest) : null,
    module,
    owner_key: null,
    detached: run.detached ? 1 : 0,
    round: 0,
    deferred_at: null,
    trace: run.trace ?? null,
    path: run.path ?? null,
  };
}

/** How lists show the session of a query. */
function sessionOf({ owner, session, parts }: Admission, key: string): SessionRow {
  const title = titleOf(parts);
  return {
    key,
    owner: JSON.stringify(owner),
    owner_hash: ownerHashOf(owner),
    id: JSON.stringify(session!.id),
    title: title === undefined ? null : JSON.stringify(title),
  };
}

/** The caller of an interrupted run was asked to send its query again: its idempotency key starts a new run. */
async function forgetKey(db: Db, runId: string): Promise<void> {
  await db.updateTable('runs').set({ idempotency_key: null }).where('id', '=', runId).execute();
}

/** Whether one more run of an owner may become active. */
async function hasFreePlace(db: Db, owner: OwnerRef, limit: number): Promise<boolean> {
  if (limit === Infinity) return true;
  const { active, hasDeferred } = await loadOf(db, owner);
  return active < limit && !hasDeferred;
}

/** @throws {QueryError} too many runs of the owner, or of its module, wait */
async function mayWait(db: Db, driver: Driver, owner: OwnerRef, admission: Admission): Promise<void> {
  const { maxWaiting, maxWaitingPerOwner = Infinity } = admission;
  const { module } = owner;
  const isOwnerFull = maxWaitingPerOwner !== Infinity && (await hasWaiting(db, owner, maxWaitingPerOwner));
  let waiting = isOwnerFull ? 0 : await countWaiting(db, module);
  if (!isOwnerFull && waiting + NEAR_CAPACITY >= maxWaiting && waiting < maxWaiting) {
    await driver.lock(db, `capacity ${module}`);
    waiting = await countWaiting(db, module);
  }
  refuseToWait(admission, isOwnerFull, waiting);
}
