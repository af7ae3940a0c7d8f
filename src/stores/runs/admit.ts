import {
  type Admission,
  type Admitted,
  idempotencyConflict,
  isInterrupted,
  type RunRecord,
  sessionBusy,
  sessionFull,
} from '../../query/index.js';
import type { Driver } from '../drivers/driver.js';
import type { Db } from '../schema/tables.js';
import { keyOf, recordOf, selectRuns } from './run-rows.js';
import { queueOf, successorOf, takeQueuePosition } from './session-queue.js';
import type { StoredQuery } from './stored-query.js';
import { insertTexts } from './texts.js';

/**
 * Admits a query. This is the body of one transaction. It refuses before it writes anything, as group commits require.
 *
 * @param processId the process that will own the run
 * @param query the query of the admission as the tables have it
 * @throws {QueryError} see `RunStore.admit`
 */
export async function admit(
  db: Db,
  driver: Driver,
  processId: string,
  admission: Admission,
  query: StoredQuery,
): Promise<Admitted> {
  const { owner, session, idempotency } = admission;
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

  if (interrupted) await forgetKey(db, interrupted.id);
  const now = Date.now();
  const record: RunRecord = {
    id: admission.runId,
    owner,
    sessionId: session?.id,
    status: 'waiting',
    createdAt: now,
    startedAt: undefined,
    endedAt: undefined,
    lastSeq: 0,
    end: undefined,
  };
  await db
    .insertInto('runs')
    .values({
      id: record.id,
      owner: JSON.stringify(owner),
      session_key: sessionKey,
      session: session ? JSON.stringify(session.id) : null,
      queue_position: sessionKey === null ? null : await takeQueuePosition(db, sessionKey, now),
      status: record.status,
      created_at: now,
      started_at: null,
      ended_at: null,
      outcome: null,
      last_seq: null,
      log_length: null,
      parts: query.parts,
      kwargs: query.kwargs,
      idempotency_key: idempotencyKey,
      digest: idempotency ? JSON.stringify(idempotency.digest) : null,
      process: processId,
    })
    .execute();
  await insertTexts(db, owner, record.id, query.texts);
  if (admission.parts.some((part) => part.type === 'file')) {
    await db.updateTable('file_uses').set({ pinned_at: null }).where('run_id', '=', record.id).execute();
  }
  return { run: record, created: true, ahead };
}

/**
 * Removes a waiting run as if it had never been admitted. This is the body of one transaction.
 *
 * @param processId the process that must own the run
 * @returns the run that is promoted by that, if there is one
 */
export async function undoAdmission(
  db: Db,
  driver: Driver,
  processId: string,
  runId: string,
): Promise<RunRecord | undefined> {
  const run = await db
    .deleteFrom('runs')
    .where('id', '=', runId)
    .where('process', '=', processId)
    .where('status', '=', 'waiting')
    .returning(['session_key', 'queue_position'])
    .executeTakeFirst();
  await db.deleteFrom('file_uses').where('run_id', '=', runId).execute();
  if (run) await db.deleteFrom('texts').where('run_id', '=', runId).execute();
  if (run?.session_key == null) return undefined;
  await driver.lock(db, `session ${run.session_key}`);
  return successorOf(db, run.session_key, run.queue_position!);
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
function refuseBehind(ahead: number, { session, refusalIfQueued }: Admission): void {
  if (ahead === 0) return;
  if (session!.policy === 'reject') throw sessionBusy();
  if (session!.policy !== 'enqueue') return;
  if (ahead > session!.maxWaiting) throw sessionFull(session!.maxWaiting);
  if (refusalIfQueued) throw refusalIfQueued;
}
