import {
  closedBy,
  expiresAt,
  type InputRequest,
  type ResolvedInput,
  type RunRecord,
  type StoredInput,
} from '../../query/index.js';
import type { Driver } from '../drivers/driver.js';
import { ownerHashOf } from '../schema/keys.js';
import type { Db } from '../schema/tables.js';
import { valueOf } from './run-rows.js';
import { type LogExtent, insertSegments, segmentsOf } from './segments.js';

/** The requests of a run, in the order in which they were asked. */
export async function inputsOf(db: Db, runId: string): Promise<StoredInput[]> {
  const rows = await selectInputs(db).where('requests.run_id', '=', runId).orderBy('key').execute();
  return rows.flatMap(inputOf);
}

/** Selects requests with the sessions of their runs. */
export function selectInputs(db: Db) {
  return db
    .selectFrom('requests')
    .innerJoin('runs', 'runs.id', 'requests.run_id')
    .select(['run_id', 'runs.session', 'request', 'asked_at', 'resolved', 'seq']);
}

type InputRow = Awaited<ReturnType<ReturnType<typeof selectInputs>['execute']>>[number];

/** The request of a row, in an array: a damaged one reads as missing. */
export function inputOf({ run_id, session, request, asked_at, resolved, seq }: InputRow): StoredInput[] {
  const read = valueOf<InputRequest>(request, run_id);
  const outcome = valueOf<ResolvedInput>(resolved, run_id);
  // What was resolved is not open again.
  if (!read || (resolved !== null && !outcome)) return [];
  const sessionId = session === null ? undefined : (valueOf<string>(session, run_id) ?? '');
  return [
    { runId: run_id, sessionId, request: read, askedAt: asked_at, resolved: outcome, seq: seq ?? undefined },
  ];
}

/** @param known how many requests the run has asked before */
export async function insertInputs(
  db: Db,
  { id: runId, owner }: Pick<RunRecord, 'id' | 'owner'>,
  requests: InputRequest[],
  known: number,
  askedAt: number,
): Promise<void> {
  const rows = requests.map((request, index) => ({
    key: `${runId}-${String(known + index).padStart(6, '0')}`,
    run_id: runId,
    owner_hash: ownerHashOf(owner),
    id: request.id,
    request: JSON.stringify(request),
    asked_at: askedAt,
    expires_at: expiresAt(request),
    held: request.hold ? 1 : 0,
    resolved: null,
    seq: null,
  }));
  await db.insertInto('requests').values(rows).execute();
}

/** Records how requests were resolved. Returns these. */
export async function setResolved(
  db: Db,
  inputs: StoredInput[],
  resolved: ResolvedInput[],
  seq: number,
): Promise<StoredInput[]> {
  return Promise.all(
    resolved.map(async (each) => {
      const input = inputs.find(({ request }) => request.id === each.id)!;
      await db
        .updateTable('requests')
        .set({ resolved: JSON.stringify(each), seq })
        .where('run_id', '=', input.runId)
        .where('id', '=', each.id)
        .execute();
      return { ...input, resolved: each, seq };
    }),
  );
}

/** Closes the open requests of a run that ends, in its log too. WARNING: under the lock of the run. */
export async function closeInputs(
  db: Db,
  driver: Driver,
  { id }: RunRecord,
  log: LogExtent,
  outcome: 'superseded' | 'cancelled',
  now: number,
): Promise<{ inputs: StoredInput[]; log: LogExtent }> {
  const all = await inputsOf(db, id);
  const { resolved, texts } = closedBy(all, outcome, now);
  const inputs = await setResolved(db, all, resolved, log.last + 1);
  // What is damaged does not expire later.
  await db.deleteFrom('requests').where('run_id', '=', id).where('resolved', 'is', null).execute();
  return { inputs, log: await appendTo(db, driver, id, log, texts) };
}

/** Appends envelopes to the log of a run that does not execute. Returns where the log ends then. */
export async function appendTo(
  db: Db,
  driver: Driver,
  id: string,
  log: LogExtent,
  texts: string[],
): Promise<LogExtent> {
  const segments = segmentsOf(id, log, texts);
  await insertSegments(db, driver, segments);
  const endOffset = segments.at(-1)?.end_offset ?? log.endOffset;
  return { last: log.last + texts.length, endOffset, length: log.length + endOffset - log.endOffset };
}

/** Whether a run asks for something that a newer query does not take the place of. */
export async function holds(db: Db, runId: string): Promise<boolean> {
  const held = await db
    .selectFrom('requests')
    .select('id')
    .where('run_id', '=', runId)
    .where('resolved', 'is', null)
    .where('held', '=', 1)
    .limit(1)
    .executeTakeFirst();
  return held !== undefined;
}
