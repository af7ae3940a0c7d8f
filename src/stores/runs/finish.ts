import {
  doneText,
  type Ended,
  KeptAnswer,
  type RunEnd,
  type RunRecord,
  type TurnAnswer,
} from '../../query/index.js';
import type { Driver } from '../drivers/driver.js';
import type { Db } from '../schema/tables.js';
import { recordOf, selectRuns } from './run-rows.js';
import { lockOwners, ownerRefOf } from './owner-queue.js';
import { insertSegments, type LogExtent, readLogExtent, segmentsOf } from './segments.js';
import { promoteAfter } from './session-queue.js';
import { addTurn } from './turns.js';

export interface Ending {
  runId: string;
  /** The process that must own the run; undefined for a run that must be waiting. */
  process: string | undefined;
  attempt: number;
  /** Undefined if it is not known yet. */
  log: LogExtent | undefined;
  end: RunEnd;
  endedAt: number;
  /** What the turn keeps of the answer. Undefined if what the run has written is damaged: its turn is empty, parts included. */
  answer: TurnAnswer | undefined;
}

/** How many runs of an owner may execute, by module; see `RecoveryEvents.maxRunningPerOwner`. */
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
): Promise<Ended | undefined> {
  const { answer } = ending;
  const found = await selectRuns(db)
    .select(['session_key', 'queue_position', 'module'])
    .$if(answer !== undefined, (of) => of.select('parts'))
    .where('id', '=', ending.runId)
    .where('owner', 'is not', null)
    .executeTakeFirst();
  if (!found) return undefined;
  const { session_key: sessionKey, queue_position: queuePosition } = found;
  if (sessionKey !== null) await driver.lock(db, `session ${sessionKey}`);
  let run = recordOf(found);
  const owner = ownerRefOf(run.owner, found.module);
  const limit = limitOf(found.module);
  // Before the row is locked: who balances the owner's runs has this lock, and may wait for the row.
  if (limit !== Infinity) await lockOwners(db, driver, [owner]);

  if (run.endedAt === undefined) {
    const ended = await end(db, driver, run, ending);
    if (!ended) return undefined;
    run = ended;
    if (sessionKey !== null)
      await addTurn(db, sessionKey, run, found.parts ?? '[]', answer ?? new KeptAnswer().value);
  } else if (run.endedAt !== ending.endedAt || JSON.stringify(run.end) !== JSON.stringify(ending.end)) {
    return undefined;
  }
  const position = { sessionKey, queuePosition, owner };
  return { run, next: await promoteAfter(db, driver, position, limit, ending.endedAt) };
}

/** Records the end of a run and `done`. Undefined if the run is not in the state that the ending requires. */
async function end(db: Db, driver: Driver, run: RunRecord, ending: Ending): Promise<RunRecord | undefined> {
  const { last, endOffset, length } = ending.log ?? (await readLogExtent(db, run.id));
  const done = doneText(ending.end);
  const seq = last + 1;
  const { numUpdatedRows } = await db
    .updateTable('runs')
    .set({
      status: ending.end.status,
      ended_at: ending.endedAt,
      outcome: JSON.stringify(ending.end),
      last_seq: seq,
      log_length: length + done.length,
      parts: null,
      kwargs: null,
      checkpoint: null,
    })
    .where('id', '=', run.id)
    .where('ended_at', 'is', null)
    .where('attempt', '=', ending.attempt)
    .$if(ending.process !== undefined, (of) => of.where('process', '=', ending.process!))
    .$if(ending.process === undefined, (of) => of.where('status', '=', 'waiting'))
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return undefined;
  await insertSegments(db, driver, segmentsOf({ id: run.id, lastSeq: last, endOffset }, [done]));
  return { ...run, status: ending.end.status, end: ending.end, endedAt: ending.endedAt, lastSeq: seq };
}
