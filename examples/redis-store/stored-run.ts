import type { Admission, RunRecord, Turn, TurnFile } from 'nest-agent-query';
import { type Place, recordOfAdmission } from 'nest-agent-query/store-rules';
import type { Change } from './redis-steps.js';

/** A run as Redis has it, in the hash `runs`. */
export interface StoredRun extends RunRecord {
  readonly module: string;
  /** Of a run that has ended, only the files: its turn has the rest. */
  readonly parts: Admission['parts'];
  readonly kwargs: Admission['kwargs'];
  /** The files of the answer. */
  readonly files: readonly TurnFile[];
  /** The idempotency key with its owner, and the digest of the query. */
  readonly key: string | undefined;
  readonly digest: string | undefined;
  /** The place in the order of all runs, and in that of runs which are ready; 0 if it is behind another run of its session. */
  readonly number: number;
  readonly ready: number;
  /** Where the log ends, in characters of JSON. */
  readonly endOffset: number;
  /** The newest state, and the number of the last envelope before it. */
  readonly state: string | undefined;
  readonly stateAt: number;
  /** The first and the last number of envelopes that later attempts have made void. */
  readonly voided: readonly (readonly [number, number])[];
  /** How many attempts were lost: those count for the restarts of the handler. */
  readonly lost: number;
  /** A caller has cancelled the run. */
  readonly cancelled: boolean;
}

/** A session as Redis has it, in the hash `sessions`. */
export interface StoredSession {
  readonly owner: string;
  readonly id: string;
  readonly title: string | undefined;
  /** The ids of the runs of its turns, oldest first. */
  readonly turns: readonly string[];
  readonly usedAt: number;
  /** The place in the order of uses. */
  readonly number: number;
}

/** A turn as Redis has it, in the hash `turns`. */
export type StoredTurn = { turn: Turn } & Pick<StoredRun, 'owner' | 'files'>;

/** A key for an owner and a name. As JSON, any two different strings have different keys. */
export function keyOf(owner: string, name: string): string {
  return JSON.stringify([owner, name]);
}

export function newRun(admission: Admission, { starts, isReady }: Place, number: number): StoredRun {
  const { owner, module = '', idempotency, parts, kwargs } = admission;
  return {
    ...recordOfAdmission(admission, starts, Date.now()),
    ...{ module, parts, kwargs, number, ready: isReady ? number : 0 },
    ...{ key: idempotency && keyOf(owner, idempotency.key), digest: idempotency?.digest },
    ...{ endOffset: 0, state: undefined, stateAt: 0, files: [], voided: [], lost: 0, cancelled: false },
  };
}

/** A file of a run, of its query or of its answer. */
export function fileOf({ parts, files }: Pick<StoredRun, 'parts' | 'files'>, sha256: string) {
  return [...parts, ...files].filter((part) => part.type === 'file').find((file) => file.sha256 === sha256);
}

/** The run when these envelopes are appended to its log. */
export function grown(run: StoredRun, log: readonly string[]): StoredRun {
  const length = log.reduce((sum, text) => sum + text.length, 0);
  return { ...run, lastSeq: run.lastSeq + log.length, endOffset: run.endOffset + length };
}

/** The changes for envelopes with which the log of a run ends. */
export function entriesOf({ id, endOffset }: StoredRun, log: readonly string[]): Change[] {
  let offset = endOffset - log.reduce((sum, text) => sum + text.length, 0);
  return log.map((text) => ({ command: ['RPUSH', `log:${id}`, `${(offset += text.length)}:${text}`] }));
}

/** Reads an entry of a log: where it ends, in characters of JSON since the beginning of the log, and the envelope. */
export function entryOf(entry: string): { endOffset: number; text: string } {
  const end = entry.indexOf(':');
  return { endOffset: Number(entry.slice(0, end)), text: entry.slice(end + 1) };
}
