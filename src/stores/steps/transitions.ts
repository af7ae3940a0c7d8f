import {
  type Ended,
  KeptAnswer,
  restartedText,
  type RunEnd,
  type StoredInput,
  type TurnAnswer,
} from '../../query/index.js';
import type { Driver } from '../drivers/driver.js';
import type { Db, Tables } from '../schema/tables.js';
import { closeInputs } from '../rows/input-rows.js';
import { insertDeliveries, type Outbox } from '../rows/outbox.js';
import { balance, lockOwners, ownerRefOf, roundBeforeYounger } from '../rows/queues.js';
import { promoteAfter } from './session-queues.js';
import { readAnswer, type VoidRange, voidRanges } from '../rows/read-log.js';
import { endingOf, endRun } from '../rows/run-changes.js';
import { type OwnedAttempt, recordOf, REPLACED, selectRuns, valueOf } from '../rows/run-rows.js';
import { insertSegments, type LogExtent, readLogExtent, segmentsOf } from '../rows/segments.js';
import { removeParts } from '../rows/turn-removal.js';
import { addTurn } from '../rows/turns.js';

/** Why a run returns to the queue: its process is lost, or stops, or has never called the handler. */
export type Cause = 'lost' | 'stops' | 'not called';

/** The next attempt of a run, and what it makes void: envelopes after the last checkpoint. */
export function nextAttempt(
  run: Pick<Tables['runs'], 'id' | 'checkpoint_seq' | 'void'> & { attempt: number },
  log: LogExtent,
) {
  const from = run.checkpoint_seq ?? 0;
  const written: VoidRange[] = log.last > from ? [[from + 1, log.last]] : [];
  const attempt = run.attempt + 1;
  return {
    hasVoid: written.length > 0,
    columns: { process: '', attempt, void: JSON.stringify([...voidRanges(run.void), ...written]) },
    segments: segmentsOf(run.id, log, [restartedText(attempt, from)]),
  };
}

/**
 * Returns a run to the queue: it is ready, before all runs of its owner that are younger. This is the body of one transaction. If
 * the handler was called, this ends the attempt: the log continues with `restarted`, and the run waits for the next one.
 *
 * @returns false if the run has ended, or the process does not own it at this attempt
 */
export async function handOver(
  db: Db,
  driver: Driver,
  { id, attempt, process }: OwnedAttempt,
  limitOf: LimitOf,
  now: number,
  cause: Cause,
): Promise<boolean> {
  const run = await db
    .selectFrom('runs')
    .select(['id', 'owner', 'module', 'checkpoint_seq', 'void', 'lost'])
    .where('id', '=', id)
    .where('process', '=', process)
    .where('ended_at', 'is', null)
    .executeTakeFirst();
  if (!run) return false;
  const log = await readLogExtent(db, id);
  const wasCalled = cause !== 'not called';
  const next = nextAttempt({ ...run, attempt }, log);
  const owner = ownerRefOf(valueOf(run.owner, id) ?? '', run.module);
  await lockOwners(db, driver, owner.key);
  const round = await roundBeforeYounger(db, owner);
  const { numUpdatedRows } = await db
    .updateTable('runs')
    .set((of) => ({
      status: 'waiting',
      process: '',
      owner_key: owner.key,
      ready_at: of.ref('created_at'),
      round,
      ...(wasCalled && next.columns),
      lost: run.lost + (cause === 'lost' ? 1 : 0),
    }))
    .where('id', '=', id)
    .where('process', '=', process)
    .where('status', '=', 'running')
    .where('attempt', '=', attempt)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  if (wasCalled) await insertSegments(db, driver, next.segments);
  // The run was not counted before, if it was started while there was no limit.
  const limit = limitOf(run.module) ?? Infinity;
  if (limit !== Infinity) await balance(db, driver, owner, limit, now);
  return true;
}

/** The end of a run. */
export interface Ending extends Pick<OwnedAttempt, 'id' | 'attempt'> {
  /** The process that owns the run. Undefined if the run must not execute: it waits or asks. */
  process: string | undefined;
  /** Undefined if it is not known yet. */
  log: LogExtent | undefined;
  end: RunEnd;
  endedAt: number;
  /**
   * What the turn keeps of the answer; of a run that does not execute, the log says it. Undefined if what the run has written is
   * damaged: its turn is empty, parts included.
   */
  answer: TurnAnswer | undefined;
  /** What open requests of the run become. Default `cancelled`. */
  outcome?: 'superseded' | 'cancelled';
}

/** The end of a run that asks or waits: it does not execute. Its turn gets the answer from the log. */
export function endingOfIdle(
  { id, attempt }: Pick<OwnedAttempt, 'id' | 'attempt'>,
  end: RunEnd,
  endedAt: number,
): Ending {
  return { id, attempt, process: undefined, log: undefined, end, endedAt, answer: new KeptAnswer().value };
}

/** How many runs of an owner may execute, by module; see `StoreHost.maxRunningPerOwner`. */
export type LimitOf = (module: string) => number | undefined;

/**
 * Ends a run. This is the body of one transaction: `done` in the log, the status, the turn, and the promotion of the next
 * run. It is repeatable: an attempt that was committed is recognised by its end and its time.
 *
 * @returns undefined if the run does not exist, has ended in another way, belongs to another process, or is at another attempt
 */
export async function finish(
  db: Db,
  driver: Driver,
  ending: Ending,
  limitOf: LimitOf,
  outbox: Outbox,
): Promise<Ended | undefined> {
  let found = await selectEnding(db, ending);
  if (!found) return undefined;
  const { session_key: sessionKey } = found;
  if (sessionKey !== null) await driver.lock(db, `session ${sessionKey}`);
  let run = recordOf(found);
  const owner = ownerRefOf(run.owner, found.module);
  const limit = limitOf(found.module);
  // Before the row is locked: who balances the owner's runs has this lock, and may wait for the row.
  if (limit !== Infinity) await lockOwners(db, driver, owner.key);
  // Of several that write to the log of a run that does not execute, one comes after the other.
  if (found.status !== 'running' && (await lockRun(db, driver, run.id))) {
    found = (await selectEnding(db, ending))!;
    run = recordOf(found);
  }

  let inputs: StoredInput[] = [];
  let { cancelled } = found;
  if (run.endedAt === undefined) {
    const isExecuting = run.status === 'running';
    if (isExecuting && ending.process === undefined) return undefined;
    const { end, endedAt, process = found.process, outcome = 'cancelled' } = ending;
    const log = ending.log ?? (await readLogExtent(db, run.id));
    const closed =
      run.status === 'input_required' ? await closeInputs(db, driver, run, log, outcome, endedAt) : undefined;
    const extent = closed?.log ?? log;
    inputs = closed?.inputs ?? [];
    const asEnded = await endRun(db, driver, endingOf({ ...ending, process }, extent, end, endedAt));
    if (asEnded === undefined) return undefined;
    cancelled = asEnded;
    run = { ...run, status: end.status, end, endedAt, lastSeq: extent.last + 1 };
    const event = { runId: run.id, status: end.status, seq: run.lastSeq, at: endedAt };
    await insertDeliveries(db, driver, outbox.rowsOf(found.module, event));
    const hasPaused = !isExecuting && run.startedAt !== undefined && ending.answer !== undefined;
    const answer = hasPaused ? await readAnswer(db, run.id, voidRanges(found.void)) : ending.answer;
    if (cancelled === REPLACED) await removeParts(db, [run.id]);
    else if (sessionKey !== null)
      await addTurn(db, sessionKey, run, found.parts ?? '[]', answer ?? new KeptAnswer().value);
  } else if (run.endedAt !== ending.endedAt || JSON.stringify(run.end) !== JSON.stringify(ending.end)) {
    return undefined;
  }
  const next = await promoteAfter(db, driver, found, owner, limit, ending.endedAt);
  return { run, next, inputs, isReplaced: cancelled === REPLACED };
}

/** Locks a run until the end of the transaction. Returns whether it may have changed meanwhile. WARNING: after all other locks. */
export async function lockRun(db: Db, { isShared }: Driver, id: string): Promise<boolean> {
  if (isShared) await db.selectFrom('runs').select('id').where('id', '=', id).forUpdate().execute();
  return isShared;
}

function selectEnding(db: Db, { id, answer }: Ending) {
  return selectRuns(db)
    .select(['session_key', 'queue_position', 'module', 'process', 'void', 'cancelled'])
    .$if(answer !== undefined, (of) => of.select('parts'))
    .where('id', '=', id)
    .where('owner', 'is not', null)
    .executeTakeFirst();
}
