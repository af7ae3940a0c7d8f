import type { Admission, RunRecord, Turn, TurnFile } from 'nest-agent-query';
import type { Write } from './redis-steps.js';

/** A run as Redis has it, under `run:{id}`. */
export interface StoredRun extends RunRecord {
  readonly module: string;
  readonly parts: Admission['parts'];
  readonly kwargs: Admission['kwargs'];
  /** The files of the answer. */
  readonly files: readonly TurnFile[];
  /** The key of the entry that leads a repeated query to the run. */
  readonly repeatedBy: string | undefined;
  /** The place in the order of all runs, and in that of runs which are ready; 0 if it is behind another run of its session. */
  readonly number: number;
  readonly ready: number;
  /** Where the log ends, in characters of JSON. */
  readonly endOffset: number;
  readonly state: string | undefined;
  /** The number of the last envelope before the state. */
  readonly stateAt: number;
  /** The first and the last number of envelopes that later attempts have made void. */
  readonly voided: readonly (readonly [number, number])[];
  /** A caller has cancelled the run. */
  readonly cancelled: boolean;
}

/** A session as Redis has it, under `session:{key}`. */
export interface StoredSession {
  readonly id: string;
  readonly title: string | undefined;
  readonly turns: number;
  readonly usedAt: number;
  /** The place in the order of uses. */
  readonly used: number;
}

/** A turn as Redis has it, under `turn:{id of its run}`. */
export type StoredTurn = Turn & Pick<StoredRun, 'owner' | 'files'>;

/** A key for an owner and a name. As JSON, any two different strings have different keys. */
export function keyOf(owner: string, name: string | undefined): string {
  return JSON.stringify([owner, name]);
}

/** What a run begins with. JSON leaves undefined members out, but a record has them. */
export const NEW_RUN = {
  sessionId: undefined,
  startedAt: undefined,
  endedAt: undefined,
  end: undefined,
  trace: undefined,
  path: undefined,
  repeatedBy: undefined,
  state: undefined,
  lastSeq: 0,
  attempt: 1,
  files: [],
  endOffset: 0,
  stateAt: 0,
  voided: [],
  cancelled: false,
};

export function readRun(text: string): StoredRun {
  return Object.assign({}, NEW_RUN, JSON.parse(text) as StoredRun);
}

export function writeRun(run: StoredRun): Write {
  return ['SET', `run:${run.id}`, JSON.stringify(run)];
}

/**
 * Appends envelopes to a log: the run with its new end, and the writes. An entry begins with where it ends. The run itself, whose
 * query may be long, is not written again: the last entry says where its log ends.
 */
export function appended(run: StoredRun, texts: readonly string[]): { run: StoredRun; writes: Write[] } {
  let { lastSeq, endOffset } = run;
  const writes = texts.map((text): Write => {
    endOffset += text.length;
    return ['ZADD', `log:${run.id}`, ++lastSeq, `${lastSeq}:${endOffset}:${text}`];
  });
  return { run: { ...run, lastSeq, endOffset }, writes };
}

/** Reads what `appended` has written. */
export function entryOf(entry: string): { seq: number; endOffset: number; text: string } {
  const [, seq, endOffset, text] = /^(\d+):(\d+):([^]*)$/.exec(entry)!;
  return { seq: Number(seq), endOffset: Number(endOffset), text: text! };
}
