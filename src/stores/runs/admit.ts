import {
  type Admission,
  type Admitted,
  idempotencyConflict,
  type RunRecord,
  sessionBusy,
  sessionFull,
} from '../../query/index.js';
import type { Backend } from '../drivers/driver.js';
import { keyOf, lineOf, recordOf, selectRuns } from './run-rows.js';
import type { Db } from '../schema/tables.js';

/** Admits a query: the body of one transaction. Everything that can refuse it comes before anything is written. */
export async function admit(
  db: Db,
  backend: Backend,
  process: string,
  admission: Admission,
): Promise<Admitted> {
  const { owner, session, idempotency } = admission;
  const idempotencyKey = idempotency ? keyOf(owner, idempotency.key) : null;
  if (idempotencyKey !== null) {
    await backend.lock(db, `idempotency ${idempotencyKey}`);
    const run = await repeated(db, idempotencyKey, idempotency!.digest);
    if (run) return { run, created: false, ahead: [] };
  }

  const sessionKey = session ? keyOf(owner, session.id) : null;
  let before: RunRecord[] = [];
  if (sessionKey !== null) {
    await backend.lock(db, `session ${sessionKey}`);
    before = await lineOf(db, sessionKey);
    refuseInLine(admission, before.length);
  }
  if (admission.refusal) throw admission.refusal;

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
      place: sessionKey === null ? null : await nextPlace(db, sessionKey, now),
      status: record.status,
      created_at: now,
      started_at: null,
      ended_at: null,
      outcome: null,
      last_seq: null,
      log_length: null,
      query: JSON.stringify({ parts: admission.parts, kwargs: admission.kwargs }),
      idempotency_key: idempotencyKey,
      digest: idempotency ? JSON.stringify(idempotency.digest) : null,
      process,
    })
    .execute();
  if (admission.parts.some((part) => part.type === 'file')) {
    await db.updateTable('file_uses').set({ pinned_at: null }).where('run_id', '=', record.id).execute();
  }
  return { run: record, created: true, ahead: before };
}

async function repeated(db: Db, key: string, digest: string): Promise<RunRecord | undefined> {
  const row = await selectRuns(db).select('digest').where('idempotency_key', '=', key).executeTakeFirst();
  if (row === undefined) return undefined;
  if (row.digest === JSON.stringify(digest)) return recordOf(row);
  throw idempotencyConflict();
}

function refuseInLine({ session, refusalIfQueued: refusalIfQueued }: Admission, length: number): void {
  if (length === 0) return;
  if (session!.policy === 'reject') throw sessionBusy();
  if (session!.policy !== 'enqueue') return;
  if (length > session!.maxWaiting) throw sessionFull(session!.maxWaiting);
  if (refusalIfQueued) throw refusalIfQueued;
}

async function nextPlace(db: Db, sessionKey: string, now: number): Promise<number> {
  const { places } = await db
    .insertInto('sessions')
    .values({ key: sessionKey, places: 1, turns: 0, length: 0, used_at: now })
    .onConflict((conflict) =>
      conflict.column('key').doUpdateSet((of) => ({ places: of('sessions.places', '+', 1), used_at: now })),
    )
    .returning('places')
    .executeTakeFirstOrThrow();
  return places;
}
