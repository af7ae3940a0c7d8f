import type { Turn, TurnAnswer } from 'nest-agent-query-client';
import type { Admission, RunRecord, TurnsPage } from './run-record.js';

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
