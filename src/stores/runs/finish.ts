import { doneText, type RunEnd, type RunRecord, type Turn } from '../../query/index.js';
import type { Backend } from '../drivers/driver.js';
import { insertStretches } from './log-writer.js';
import { recordOf, selectRuns } from './run-rows.js';
import type { Db } from '../schema/tables.js';

export interface Finished {
  run: RunRecord;
  next: RunRecord | undefined;
}

/** What the end of a run is to be. */
export interface Ending {
  runId: string;
  /** Whose the run must be; undefined where that is known. */
  owner: string | undefined;
  /** The process that must be executing it; undefined where that one is gone. */
  process: string | undefined;
  /** Where its log ends, if that is known. */
  log: LogExtent | undefined;
  end: RunEnd;
  endedAt: number;
  /** The answer's text, for the turn. */
  text: string;
}

/**
 * Ends a run: the body of one transaction. It may be repeated where it is not known whether an attempt was committed:
 * the end is recognised by its time. Undefined where the run has ended otherwise, or there is none.
 */
export async function finish(db: Db, backend: Backend, ending: Ending): Promise<Finished | undefined> {
  const found = await selectRuns(db)
    .select(['session_key', 'place', 'query'])
    .where('id', '=', ending.runId)
    .where('owner', 'is not', null)
    .executeTakeFirst();
  if (!found || (ending.owner !== undefined && recordOf(found).owner !== ending.owner)) return undefined;
  const { session_key: sessionKey, place } = found;
  if (sessionKey !== null) await backend.lock(db, `session ${sessionKey}`);

  let run = recordOf(found);
  if (run.endedAt === undefined) {
    const ended = await end(db, run, ending);
    if (!ended) return undefined;
    run = ended;
    if (sessionKey !== null) await addTurn(db, sessionKey, run, found.query!, ending.text);
    else await db.deleteFrom('file_uses').where('run_id', '=', run.id).execute();
  } else if (run.endedAt !== ending.endedAt || JSON.stringify(run.end) !== JSON.stringify(ending.end)) {
    return undefined;
  }
  return { run, next: sessionKey === null ? undefined : await calledUp(db, sessionKey, place!) };
}

/** Removes a run that was not started, as if it had not been admitted. Returns the run that this calls up. */
export async function withdraw(
  db: Db,
  backend: Backend,
  process: string,
  runId: string,
): Promise<RunRecord | undefined> {
  const run = await db
    .deleteFrom('runs')
    .where('id', '=', runId)
    .where('process', '=', process)
    .where('status', '=', 'waiting')
    .returning(['session_key', 'place'])
    .executeTakeFirst();
  await db.deleteFrom('file_uses').where('run_id', '=', runId).execute();
  if (run?.session_key == null) return undefined;
  await backend.lock(db, `session ${run.session_key}`);
  return calledUp(db, run.session_key, run.place!);
}

async function end(db: Db, run: RunRecord, ending: Ending): Promise<RunRecord | undefined> {
  const { last, position, length } = ending.log ?? (await logEnd(db, run.id));
  const done = doneText(ending.end);
  const seq = last + 1;
  const unfinished = db.updateTable('runs').where('id', '=', run.id).where('ended_at', 'is', null);
  const ours = ending.process === undefined ? unfinished : unfinished.where('process', '=', ending.process);
  const { numUpdatedRows } = await ours
    .set({
      status: ending.end.status,
      ended_at: ending.endedAt,
      outcome: JSON.stringify(ending.end),
      last_seq: seq,
      log_length: length + done.length,
      query: null,
    })
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return undefined;
  await insertStretches(db, [
    {
      run_id: run.id,
      first: seq,
      last: seq,
      start: position,
      position: position + done.length,
      envelopes: done,
    },
  ]);
  return { ...run, status: ending.end.status, end: ending.end, endedAt: ending.endedAt, lastSeq: seq };
}

/** The run that the end of the one at `place` calls up: the first in line, if it waited behind that one. */
async function calledUp(db: Db, sessionKey: string, place: number): Promise<RunRecord | undefined> {
  const row = await selectRuns(db)
    .select('place')
    .where('session_key', '=', sessionKey)
    .where('ended_at', 'is', null)
    .orderBy('place')
    .limit(1)
    .executeTakeFirst();
  return row && row.place! > place && row.status === 'waiting' ? recordOf(row) : undefined;
}

/** Where a log ends, and how much of it is kept, in characters. */
export interface LogExtent {
  last: number;
  position: number;
  length: number;
}

export async function logEnd(db: Db, runId: string): Promise<LogExtent> {
  const ends = db.selectFrom('log').where('run_id', '=', runId);
  const newest = await ends.select(['last', 'position']).orderBy('last', 'desc').limit(1).executeTakeFirst();
  if (!newest) return { last: 0, position: 0, length: 0 };
  const oldest = await ends.select('start').orderBy('last').limit(1).executeTakeFirstOrThrow();
  return { ...newest, length: newest.position - oldest.start };
}

async function addTurn(
  db: Db,
  sessionKey: string,
  run: RunRecord,
  query: string,
  text: string,
): Promise<void> {
  const turn: Turn = {
    runId: run.id,
    parts: (JSON.parse(query) as { parts: Turn['parts'] }).parts,
    text,
    end: run.end!,
    createdAt: new Date(run.createdAt).toISOString(),
    endedAt: new Date(run.endedAt!).toISOString(),
  };
  const json = JSON.stringify(turn);
  const { turns } = await db
    .updateTable('sessions')
    .set((of) => ({
      turns: of('turns', '+', 1),
      length: of('length', '+', json.length),
      used_at: run.endedAt!,
    }))
    .where('key', '=', sessionKey)
    .returning('turns')
    .executeTakeFirstOrThrow();
  await db
    .insertInto('turns')
    .values({ session_key: sessionKey, number: turns, run_id: run.id, length: json.length, turn: json })
    .execute();
}
