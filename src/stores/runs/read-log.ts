import {
  cursorExpired,
  type Envelope,
  KeptAnswer,
  type LogSlice,
  type QueryError,
  type TurnAnswer,
} from '../../query/index.js';
import type { Db } from '../schema/tables.js';
import type { VoidRange } from './attempts.js';
import type { Segment } from './segments.js';

/** The most characters that one read of a log returns, unless its first envelope is longer. */
export const SLICE_LENGTH = 64 * 1024;
/** The most rows that one statement reads. It limits the reads of logs whose envelopes were committed one by one. */
const SLICE_ROWS = 1_000;

/**
 * Reads the envelopes after a cursor.
 *
 * @param run `lastSeq` is the number of its newest envelope; `ended` tells whether that is `done`
 * @throws {QueryError} `cursor_expired`
 */
export async function readLog(
  db: Db,
  run: { id: string; lastSeq: number; ended: boolean },
  after: number,
): Promise<LogSlice> {
  const log = db.selectFrom('log').where('run_id', '=', run.id);
  if (after >= run.lastSeq) {
    const newest = await log.select('end_offset').orderBy('last', 'desc').limit(1).executeTakeFirst();
    return { first: after + 1, count: 0, lines: '', endOffset: newest?.end_offset ?? 0, ended: run.ended };
  }
  const following = log.where('last', '>', after).orderBy('last');
  const segments = await following
    .select(['first', 'last', 'start_offset', 'end_offset', 'envelopes'])
    .where((of) => of('start_offset', '<', of(following.select('start_offset').limit(1), '+', SLICE_LENGTH)))
    .limit(SLICE_ROWS)
    .execute();
  const [head] = segments;
  if (!head || head.first > after + 1) throw await expired(db, run, after);

  return sliceOf(segments, after, run);
}

/**
 * Makes a slice of the segments after a cursor.
 *
 * @param segments consecutive; the first one has the envelope after the cursor
 * @param run `lastSeq` is the number of its newest envelope; `ended` tells whether that is `done`
 */
export function sliceOf(
  segments: Omit<Segment, 'run_id'>[],
  after: number,
  run: { lastSeq: number; ended: boolean },
): LogSlice {
  const head = segments[0]!;
  const texts = [
    head.envelopes
      .split('\n')
      .slice(after + 1 - head.first)
      .join('\n'),
  ];
  let { last, end_offset: endOffset } = head;
  let { length } = texts[0]!;
  for (const segment of segments.slice(1)) {
    length += segment.envelopes.length;
    if (length > SLICE_LENGTH) break;
    texts.push(segment.envelopes);
    ({ last, end_offset: endOffset } = segment);
  }
  return {
    first: after + 1,
    count: last - after,
    lines: texts.join('\n'),
    endOffset,
    ended: run.ended && last === run.lastSeq,
  };
}

/** Reads what a turn keeps of a run's answer, as far as the log has it, without the void envelopes. */
export async function readAnswer(db: Db, runId: string, voids: VoidRange[]): Promise<TurnAnswer> {
  const answer = new KeptAnswer();
  for (let after = 0; !answer.isFull;) {
    const segments = await db
      .selectFrom('log')
      .select(['first', 'last', 'envelopes'])
      .where('run_id', '=', runId)
      .where('last', '>', after)
      .orderBy('last')
      .limit(SLICE_ROWS)
      .execute();
    if (segments.length === 0) break;
    for (const { first, envelopes } of segments) {
      for (const [index, envelope] of envelopes.split('\n').entries()) {
        const isVoid = voids.some(([from, to]) => first + index >= from && first + index <= to);
        if (!isVoid) answer.add(JSON.parse(envelope) as Envelope, envelope);
      }
    }
    after = segments.at(-1)!.last;
  }
  return answer.value;
}

/** The error of a cursor whose envelopes were trimmed. */
export async function expired(
  db: Db,
  run: { id: string; lastSeq: number },
  after: number,
): Promise<QueryError> {
  const row = await db
    .selectFrom('log')
    .select((of) => of.fn.min('first').as('first'))
    .where('run_id', '=', run.id)
    .executeTakeFirst();
  const oldest = row?.first ?? run.lastSeq + 1;
  return cursorExpired(after, oldest, run.lastSeq);
}
