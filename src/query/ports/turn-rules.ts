import type { Turn, TurnAnswer } from 'nest-agent-query-client';
import { invalidQuery, nothingToReplace, sessionBusy, sessionExists } from '../contract/refusals.js';
import type { Awaitable } from './file-store.js';
import type { Admission, RunRecord } from './run-record.js';
import type { Fork, NumberedTurn, TurnsPage } from './session-record.js';

/**
 * The turn of a run that has ended.
 *
 * @param run its record, with `end` and `endedAt`
 * @param parts of the query, as the admission had them
 *
 * @example
 * session.turns.push(turnOfRun(ended, run.parts, answer));
 */
export function turnOfRun(run: RunRecord, parts: Admission['parts'], answer: TurnAnswer): Turn {
  const createdAt = new Date(run.createdAt).toISOString();
  return {
    runId: run.id,
    parts,
    ...answer,
    end: run.end!,
    createdAt,
    endedAt: new Date(run.endedAt!).toISOString(),
  };
}

/**
 * Cuts a page of turns: the oldest that fit, or the newest if `after` is undefined; at least one.
 *
 * @param turns those that the page may have: up to `limit` of them, oldest first
 * @param last the number of the last of these
 * @param total the number of the newest turn of the session
 * @param lengthOf what a turn adds to the length of the page
 * @returns what `RunStore.turns` returns
 *
 * @example
 * return pageOfTurns(turns.slice(after, after + limit), page, Math.min(total, after + limit), total, lengthOf);
 */
export function pageOfTurns<T>(
  turns: T[],
  { after, maxLength = Infinity }: Pick<TurnsPage, 'after' | 'maxLength'>,
  last: number,
  total: number,
  lengthOf: (turn: T) => number,
): { turns: T[]; last: number; total: number } {
  const isNewest = after === undefined;
  let length = 0;
  const ordered = isNewest ? turns.toReversed() : turns;
  const fitting = ordered.filter((turn, index) => (length += lengthOf(turn)) <= maxLength || index === 0);
  if (isNewest) return { turns: fitting.reverse(), last, total };
  return { turns: fitting, last: last - (turns.length - fitting.length), total };
}

/** Finds the turn of a run. @param read reads a page of the turns of a session: as many as are needed are read */
export async function turnAmong(
  read: (page: TurnsPage) => Awaitable<{ turns: Turn[]; last: number; total: number } | undefined>,
  runId: string,
): Promise<NumberedTurn | undefined> {
  for (let after = 0; ;) {
    const page = await read({ after, limit: 500, maxLength: 8 * 1024 * 1024, cutTexts: true });
    if (!page) return undefined;
    const { turns, last, total } = page;
    const index = turns.findIndex((turn) => turn.runId === runId);
    if (index >= 0) return { turn: turns[index]!, number: last - turns.length + index + 1 };
    if (last >= total) return undefined;
    after = last;
  }
}

/**
 * Refuses a query that replaces the turns after a number, if its session has an unfinished run or fewer turns.
 *
 * @param ahead how many runs of the session have not ended
 * @param turns the number of its newest turn; 0 without a session
 * @throws {QueryError} `session_busy` · `invalid_query`
 *
 * @example
 * if (session?.afterTurn !== undefined) refuseToReplace(session.afterTurn, queue.length, turns);
 */
export function refuseToReplace(afterTurn: number, ahead: number, turns: number): void {
  if (ahead > 0) throw sessionBusy();
  if (afterTurn > turns) throw nothingToReplace(afterTurn, turns);
}

/**
 * Refuses a query that continues a conversation which has gone on.
 *
 * @param afterRun the run that the newest turn must be of
 * @param ahead how many runs of the session have not ended
 * @param newest the run of its newest turn; undefined without one
 * @throws {QueryError} `session_busy`
 *
 * @example
 * if (session?.afterRun !== undefined) refuseToFollow(session.afterRun, queue.length, turns.at(-1)?.runId);
 */
export function refuseToFollow(afterRun: string, ahead: number, newest: string | undefined): void {
  if (ahead > 0 || newest !== afterRun) throw sessionBusy();
}

/**
 * Refuses a fork of a session, if the new id is taken or the session has fewer turns.
 *
 * @param turns the number of the newest turn of the session
 * @param isTaken whether the owner has a session with the new id
 * @throws {QueryError} `session_exists` · `invalid_query`
 *
 * @example
 * refuseToFork(fork, source.turns, sessions.has(fork.newId));
 */
export function refuseToFork({ afterTurn, newId }: Fork, turns: number, isTaken: boolean): void {
  if (isTaken) throw sessionExists(newId);
  const detail = `must be at most ${turns}, the number of the newest turn of the session`;
  if (afterTurn > turns) throw invalidQuery([{ pointer: '/afterTurn', detail }]);
}
