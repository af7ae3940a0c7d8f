import {
  type Admission,
  type Admitted,
  atCapacity,
  idempotencyConflict,
  isInterrupted,
  type RunRecord,
  sessionBusy,
  sessionFull,
} from '../../query/index.js';
import type { Driver } from '../drivers/driver.js';
import type { Db } from '../schema/tables.js';
import { insertRuns, keyOf, recordOf, type RunToInsert, selectRuns } from './run-rows.js';
import { insertSegments, segmentsOf } from './segments.js';
import { promoteAfter, queueOf, takeQueuePosition } from './session-queue.js';
import type { WrittenQuery } from './written-query.js';
import { insertTexts } from './texts.js';

/** So near to the limit of waiting runs, admissions are counted one after another. */
const NEAR_CAPACITY = 100;

/** Who admits, and when. */
export interface Admitting {
  /** The process that executes the run if it starts at once. */
  process: string;
  /** The time of the database. */
  now: number;
}

/** Whether there is nothing to be read for an admission, and nothing to be written but the run. */
export function isAlone(admission: Admission): boolean {
  const { session, idempotency, mayStart, parts } = admission;
  const hasOnlyRun = mayStart && !session && !idempotency && !parts.some((part) => part.type === 'file');
  return hasOnlyRun && admission.notices(undefined).length === 0;
}

/** The run that is made of a query for which `isAlone` holds, and its row. */
export function startedAlone(
  { process, now }: Admitting,
  admission: Admission,
  query: WrittenQuery,
): { run: RunRecord; row: RunToInsert } {
  const run = newRun(admission, now, true);
  return { run, row: { ...rowOf(run, admission, query), process, ready_at: now } };
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
  { process, now }: Admitting,
  admission: Admission,
  query: WrittenQuery,
): Promise<Admitted> {
  const { owner, session, idempotency, module = '' } = admission;
  let interrupted: RunRecord | undefined;
  const idempotencyKey = idempotency ? keyOf(owner, idempotency.key) : null;
  if (idempotencyKey !== null) {
    await driver.lock(db, `idempotency ${idempotencyKey}`);
    const run = await findRepeated(db, idempotencyKey, idempotency!.digest);
    if (run && !isInterrupted(run.end)) return { run, created: false, ahead: [] };
    interrupted = run;
  }

  const sessionKey = session ? keyOf(owner, session.id) : null;
  let ahead: RunRecord[] = [];
  if (sessionKey !== null) {
    await driver.lock(db, `session ${sessionKey}`);
    ahead = await queueOf(db, sessionKey);
    refuseBehind(ahead.length, admission);
  }
  if (admission.refusal) throw admission.refusal;
  const starts = admission.mayStart && ahead.length === 0;
  if (!starts) await refuseAtCapacity(db, driver, module, admission.maxWaiting);

  if (interrupted) await forgetKey(db, interrupted.id);
  const notices = admission.notices(starts ? undefined : ahead.length);
  const record = { ...newRun(admission, now, starts), lastSeq: notices.length };
  const row: RunToInsert = {
    ...rowOf(record, admission, query),
    session_key: sessionKey,
    queue_position: sessionKey === null ? null : await takeQueuePosition(db, sessionKey, now),
    idempotency_key: idempotencyKey,
    process: starts ? process : '',
    ready_at: ahead.length === 0 ? now : null,
  };
  await insertRuns(db, driver, [row]);
  if (notices.length > 0) {
    await insertSegments(db, driver, segmentsOf({ id: record.id, lastSeq: 0, endOffset: 0 }, notices));
  }
  await insertTexts(db, owner, record.id, query.texts);
  if (admission.parts.some((part) => part.type === 'file')) {
    await db.updateTable('file_uses').set({ pinned_at: null }).where('run_id', '=', record.id).execute();
  }
  return { run: record, created: true, ahead };
}

/**
 * Removes a run as if it had never been admitted, unless another process executes it. This is the body of one transaction.
 *
 * @param admitting who has admitted the run
 * @returns whether another run was promoted by that
 */
export async function undoAdmission(
  db: Db,
  driver: Driver,
  { process, now }: Admitting,
  runId: string,
): Promise<boolean> {
  const run = await db
    .deleteFrom('runs')
    .where('id', '=', runId)
    .where('ended_at', 'is', null)
    .where((of) => of.or([of('status', '=', 'waiting'), of('process', '=', process)]))
    .returning(['session_key', 'queue_position'])
    .executeTakeFirst();
  if (!run) return false;
  await db.deleteFrom('file_uses').where('run_id', '=', runId).execute();
  await db.deleteFrom('texts').where('run_id', '=', runId).execute();
  await db.deleteFrom('log').where('run_id', '=', runId).execute();
  if (run.session_key === null) return false;
  await driver.lock(db, `session ${run.session_key}`);
  return (await promoteAfter(db, run.session_key, run.queue_position!, now)) !== undefined;
}

function newRun(admission: Admission, now: number, starts: boolean): RunRecord {
  const { runId, owner, session, detached, trace } = admission;
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
  };
}

/** The columns of a new run, as far as they follow from its admission. */
function rowOf(run: RunRecord, { session, idempotency, module = '' }: Admission, query: WrittenQuery) {
  return {
    id: run.id,
    owner: JSON.stringify(run.owner),
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
    detached: run.detached ? 1 : 0,
    trace: run.trace ?? null,
  };
}

/** The run that an idempotency key started. */
async function findRepeated(db: Db, key: string, digest: string): Promise<RunRecord | undefined> {
  const row = await selectRuns(db).select('digest').where('idempotency_key', '=', key).executeTakeFirst();
  if (row === undefined) return undefined;
  if (row.digest === JSON.stringify(digest)) return recordOf(row);
  throw idempotencyConflict();
}

/** The caller of an interrupted run was asked to send its query again: its idempotency key starts a new run. */
async function forgetKey(db: Db, runId: string): Promise<void> {
  await db.updateTable('runs').set({ idempotency_key: null }).where('id', '=', runId).execute();
}

/** Refuses a query with runs ahead of it, if the session policy or a limit requires that. */
function refuseBehind(ahead: number, { session }: Admission): void {
  if (ahead === 0) return;
  if (session!.policy === 'reject') throw sessionBusy();
  if (session!.policy === 'enqueue' && ahead > session!.maxWaiting) throw sessionFull(session!.maxWaiting);
}

/** Refuses a query that would wait, if too many runs of its module wait. */
async function refuseAtCapacity(db: Db, driver: Driver, module: string, maxWaiting: number): Promise<void> {
  let waiting = await countWaiting(db, module);
  if (waiting + NEAR_CAPACITY >= maxWaiting && waiting < maxWaiting) {
    await driver.lock(db, `capacity ${module}`);
    waiting = await countWaiting(db, module);
  }
  if (waiting >= maxWaiting) throw atCapacity(waiting);
}

async function countWaiting(db: Db, module: string): Promise<number> {
  const { count } = await db
    .selectFrom('runs')
    .select((of) => of.fn.countAll<string | number>().as('count'))
    .where('status', '=', 'waiting')
    .where('module', '=', module)
    .executeTakeFirstOrThrow();
  return Number(count);
}
