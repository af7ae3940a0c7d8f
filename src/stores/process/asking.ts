import {
  answersTo,
  askedAt,
  type Asking,
  EXPIRED,
  expiredOf,
  type GivenAnswers,
  type InputsResolved,
  interrupted,
  pausedAt,
  refuseToAsk,
  type ResolvedInput,
  resolvedText,
  type RunRecord,
  type RunRef,
  runNotFound,
  type StoredInput,
} from '../../query/index.js';
import type { Database } from '../drivers/database.js';
import type { Driver } from '../drivers/driver.js';
import { ownerHashOf } from '../schema/keys.js';
import type { Db } from '../schema/tables.js';
import { appendTo, inputsOf, insertInputs, setResolved } from '../rows/input-rows.js';
import { expiredRequests } from './lease.js';
import type { LocalRun } from './local-run.js';
import { insertDeliveries, type Outbox } from '../rows/outbox.js';
import { balance, lockOwners, ownerRefOf, roundBeforeYounger } from '../rows/queues.js';
import { findRun, type OwnedAttempt, valueOf } from '../rows/run-rows.js';
import { insertSegments, readLogExtent } from '../rows/segments.js';
import { endingOfIdle, finish, type LimitOf, lockRun, nextAttempt } from '../steps/transitions.js';

/** A run that has asked comes before the others of its owner that are deferred. */
const FIRST = 1;

/** How many runs with expired requests are looked at in one step. */
const BATCH = 100;

/**
 * Lets a run ask that this process executes. This is the body of one transaction, and it is repeatable: with the same `now`.
 *
 * @returns the envelope and its number; and the runs that became ready in the place of this one
 * @throws {QueryError} see `InputStore.ask`
 */
export async function ask(
  db: Db,
  driver: Driver,
  run: LocalRun,
  asking: Asking,
  limit: number,
  outbox: Outbox,
  now: number,
): Promise<{ text: string; seq: number; ready: RunRecord[] }> {
  const { id, process, attempt, record, logExtent: log } = run;
  const seq = log.last + 1;
  const known = await inputsOf(db, id);
  const repeated = known.find(({ request }) => request.id === asking.requests[0]!.id);
  const at = repeated?.askedAt ?? pausedAt(now, known);
  const { requests, text } = askedAt(at, asking);
  if (repeated) return { text, seq, ready: [] };
  refuseToAsk(await countAsking(db, record.owner, asking.maxAsking), asking.maxAsking);
  const owner = ownerRefOf(record.owner, run.module);
  if (limit !== Infinity) await lockOwners(db, driver, owner.key);
  const { numUpdatedRows } = await db
    .updateTable('runs')
    .set({
      status: 'input_required',
      owner_key: owner.key,
      ready_at: null,
      round: 0,
      survives: asking.survives ? 1 : 0,
      ...(asking.state !== undefined && { checkpoint: asking.state, checkpoint_seq: seq }),
    })
    .where('id', '=', id)
    .where('process', '=', process)
    .where('attempt', '=', attempt)
    .where('status', '=', 'running')
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw interrupted();
  await appendTo(db, driver, id, log, [text]);
  await insertInputs(db, record, requests, known.length, at);
  const event = {
    runId: id,
    status: 'input_required' as const,
    seq,
    at,
    inputs: requests.map((each) => each.id),
  };
  await insertDeliveries(db, driver, outbox.rowsOf(run.module, event));
  const ready = limit === Infinity ? [] : await balance(db, driver, owner, limit, now);
  return { text, seq, ready };
}

/**
 * Takes a run that asks, or that has asked and waits, away from the process whose handler waits for the answers. This is the body
 * of one transaction.
 *
 * @returns see `InputStore.park`
 */
export async function park(db: Db, driver: Driver, { id, attempt, process }: OwnedAttempt): Promise<boolean> {
  await lockRun(db, driver, id);
  const run = await db
    .selectFrom('runs')
    .select(['id', 'status', 'survives', 'attempt', 'checkpoint_seq', 'void'])
    .where('id', '=', id)
    .where('process', '=', process)
    .where('attempt', '=', attempt)
    .where('ended_at', 'is', null)
    .executeTakeFirst();
  // Another process has it, or it has ended.
  if (!run) return true;
  // This process may have taken it just now.
  if (run.status === 'running' || run.survives === 0) return false;
  const columns = run.status === 'waiting' ? await beginAttempt(db, driver, run) : { process: '' };
  await db.updateTable('runs').set(columns).where('id', '=', id).execute();
  return true;
}

/**
 * Answers requests of a run. This is the body of one transaction.
 *
 * @throws {QueryError} see `InputStore.answer`
 */
export async function answer(
  db: Db,
  driver: Driver,
  { owner, id }: RunRef,
  given: GivenAnswers,
  limitOf: LimitOf,
  now: number,
): Promise<InputsResolved> {
  const run = await lockAsking(db, driver, owner, id, limitOf);
  if (!run) throw runNotFound();
  const inputs = await inputsOf(db, id);
  const resolved = answersTo(inputs, run, given, now);
  if (resolved.length > 0) return resolve(db, driver, run, inputs, resolved, limitOf, now, given.detached);
  const first = inputs.find(({ request }) => request.id === given.answers[0]?.id);
  return { run, inputs: [], before: (first?.seq ?? 1) - 1, isReady: false };
}

/** Resolves the requests that have expired, and ends the runs that fail by that. If several processes try, one does it. */
export async function expireInputs(
  database: Database,
  limitOf: LimitOf,
  outbox: Outbox,
): Promise<InputsResolved[]> {
  const now = database.now();
  const { driver } = database;
  const late = await database.attempt((db) =>
    expiredRequests(db, now).select('run_id').distinct().limit(BATCH).execute(),
  );
  const all: InputsResolved[] = [];
  for (const { run_id } of late) {
    const expireIt = (db: Db) => expire(db, driver, run_id, limitOf, outbox, now);
    const expired = await database.attempt(expireIt, 'transaction');
    if (expired) all.push(expired);
  }
  return all;
}

async function expire(
  db: Db,
  driver: Driver,
  id: string,
  limitOf: LimitOf,
  outbox: Outbox,
  now: number,
): Promise<InputsResolved | undefined> {
  const found = await db.selectFrom('runs').select('owner').where('id', '=', id).executeTakeFirst();
  const owner = valueOf<string>(found?.owner ?? null, id);
  const run = owner === undefined ? undefined : await lockAsking(db, driver, owner, id, limitOf);
  if (run?.status !== 'input_required') return undefined;
  const inputs = await inputsOf(db, id);
  const resolved = expiredOf(inputs, now);
  // Another process was faster; or what has expired is damaged, and the run would ask for ever.
  const isDamaged = async () =>
    (await expiredRequests(db, now).select('key').where('run_id', '=', id).execute()).length > 0;
  if (resolved?.length === 0 && !(await isDamaged())) return undefined;
  if (resolved && resolved.length > 0) return resolve(db, driver, run, inputs, resolved, limitOf, now, true);
  const ended = await finish(db, driver, endingOfIdle(run, EXPIRED, now), limitOf, outbox);
  return (
    ended && {
      run: ended.run,
      inputs: ended.inputs ?? [],
      before: run.lastSeq,
      isReady: ended.next !== undefined,
    }
  );
}

/** The run with the locks that are needed to answer it. */
async function lockAsking(
  db: Db,
  driver: Driver,
  owner: string,
  id: string,
  limitOf: LimitOf,
): Promise<RunRecord | undefined> {
  const row = await db
    .selectFrom('runs')
    .select(['module', 'session_key'])
    .where('id', '=', id)
    .where('owner', '=', JSON.stringify(owner))
    .executeTakeFirst();
  if (!row) return undefined;
  if (row.session_key !== null) await driver.lock(db, `session ${row.session_key}`);
  if (limitOf(row.module) !== Infinity) await lockOwners(db, driver, ownerRefOf(owner, row.module).key);
  await lockRun(db, driver, id);
  return findRun(db, owner, id);
}

/** Resolves requests, and lets the run wait if none is open any more. WARNING: under the locks of `lockAsking`. */
async function resolve(
  db: Db,
  driver: Driver,
  run: RunRecord,
  inputs: StoredInput[],
  resolved: ResolvedInput[],
  limitOf: LimitOf,
  now: number,
  detached: boolean,
): Promise<InputsResolved> {
  const { id } = run;
  const log = await readLogExtent(db, id);
  const text = resolvedText(inputs, resolved);
  await appendTo(db, driver, id, log, [text]);
  const changed = await setResolved(db, inputs, resolved, log.last + 1);
  const row = await db
    .selectFrom('runs')
    .select(['id', 'module', 'process', 'attempt', 'checkpoint_seq', 'void'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  // The checkpoint of the question is also that of the answer: what was answered is never void.
  const isAtCheckpoint = row.checkpoint_seq === log.last;
  const checkpoint_seq = isAtCheckpoint ? log.last + 1 : row.checkpoint_seq;
  const isReady = inputs.every(
    (input) => input.resolved ?? resolved.some((each) => each.id === input.request.id),
  );
  const isParked = isReady && row.process === '';
  await db
    .updateTable('runs')
    .set({
      checkpoint_seq,
      ...(detached && { detached: 1 }),
      ...(isParked && (await beginAttempt(db, driver, { ...row, checkpoint_seq }))),
    })
    .where('id', '=', id)
    .execute();
  if (isReady) await letWait(db, driver, run, row.module, limitOf(row.module), now);
  const answered = (await findRun(db, run.owner, id))!;
  return { run: answered, inputs: changed, before: log.last, text, isReady };
}

/** The run waits, before the runs of its owner that were never started. */
async function letWait(
  db: Db,
  driver: Driver,
  run: RunRecord,
  module: string,
  limit: number | undefined,
  now: number,
): Promise<void> {
  const owner = ownerRefOf(run.owner, module);
  const isFree = limit === Infinity;
  if (isFree) await lockOwners(db, driver, owner.key);
  const round = isFree ? await roundBeforeYounger(db, owner) : 0;
  await db
    .updateTable('runs')
    .set((of) => ({
      status: 'waiting',
      ready_at: isFree ? of.ref('created_at') : null,
      round,
      deferred_at: isFree ? null : FIRST,
    }))
    .where('id', '=', run.id)
    .execute();
  if (limit !== undefined && !isFree) await balance(db, driver, owner, limit, now);
}

/** The columns of the next attempt. The log says that all envelopes since the last checkpoint are void. */
async function beginAttempt(db: Db, driver: Driver, run: Parameters<typeof nextAttempt>[0]) {
  const { hasVoid, columns, segments } = nextAttempt(run, await readLogExtent(db, run.id));
  if (hasVoid) await insertSegments(db, driver, segments);
  return columns;
}

/** How many runs of an owner ask. Reads no more of them than `most`. */
async function countAsking(db: Db, owner: string, most: number): Promise<number> {
  const rows = await db
    .selectFrom('runs')
    .select('id')
    .where('owner_hash', '=', ownerHashOf(owner))
    .where('status', '=', 'input_required')
    .where('owner', '=', JSON.stringify(owner))
    .limit(most)
    .execute();
  return rows.length;
}
