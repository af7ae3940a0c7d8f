import { EventLog, type RunEnd, type RunRecord, type RunRef, type Used } from '../../query/index.js';
import type { NewRun } from '../rows/new-runs.js';
import type { LogExtent } from '../rows/segments.js';
import type { QueryRow } from '../rows/stored-query.js';
import type { RunUsage } from '../rows/usage-rows.js';

/** What of a run waits for its commit. */
export interface Waiting {
  readonly run: LocalRun;
  /** Settles with the commit. */
  readonly done: Promise<void>;
  /** The run, if the database does not have it yet, and what rejects its admission. */
  inserted?: { row: NewRun; refuse: (error: unknown) => void };
  readonly envelopes: string[];
  /** The length of the envelopes, in characters. */
  length: number;
  /** What some of these envelopes tell that was used. */
  used?: Used[];
  /** The state of the handler as JSON, and how many of these envelopes are before it. */
  checkpoint?: { state: string; after: number };
  /** The end of the run, behind these envelopes. */
  ending?: { end: RunEnd; endedAt: number };
  /** Nothing of the run may stay in the journal. */
  isMoved?: true;
}

/** Which part of a log is in the journal: all that follows an envelope. */
export interface Journaled {
  /** The number of that envelope, and where it ends, in characters since the beginning of the log. */
  after: number;
  afterOffset: number;
  /** It is moved when it is so long, in characters. */
  fullLength: number;
  /** The oldest row with a part of it, and when that was written (`performance.now`). */
  row: number;
  since: number;
}

/** The member of a record that has its run. */
const RUN = Symbol('run');

/** A run that this process owns: its state, and the newest part of its log, which followers read without the database. */
export class LocalRun {
  /** The newest committed envelopes. The older ones are in the database only. */
  tail: EventLog;
  /** Nothing can be appended any more: an earlier envelope could not be written, or another process owns the run. */
  isUnwritable = false;
  /** The lease of this process has ended: another process decides about the run. */
  isLost = false;
  /** What the committed envelopes tell that it has used. */
  usage: readonly RunUsage[] = [];
  /** The query as the start of the run has read it, until it is asked for, or something is emitted or kept. */
  query: QueryRow | undefined;
  /** Settles when the database has the run. Undefined if it has had the run from the beginning. */
  stored: Promise<void> | undefined;
  /** The end of the run is decided and being recorded. */
  isFinishing = false;
  /** Settles when what the run asks is in the database, or cannot be: then the run is in no process, or goes on. */
  asking: Promise<unknown> | undefined;
  /** The log may have been trimmed up to here, in characters since its beginning. */
  trimmedOffset = 0;
  /** The newest part of it that waits for its commit. */
  waiting: Waiting | undefined;
  /** The part of its log that is in the journal, and not in the table `log`. */
  journaled: Journaled | undefined;
  /** How `LocalRuns` counts the length of the tail. */
  countedLength = 0;
  /** The `LocalRuns` that have it: its record may come to another store, or after the run has left this process. */
  keptBy: object | undefined;

  readonly id: string;
  readonly attempt: number;

  /**
   * @param record the run as this process knows it, but for its `lastSeq` until the run has ended
   * @param process the id of this process when it started the run; see `Lease`
   * @param log where its log ends
   */
  constructor(
    public record: RunRecord,
    readonly module: string,
    readonly process: string,
    log: Pick<LogExtent, 'last' | 'endOffset'>,
  ) {
    this.id = record.id;
    this.attempt = record.attempt;
    this.tail = new EventLog(log.last, log.endOffset);
    // It is not enumerable: neither a copy of the record nor a comparison has it.
    Object.defineProperty(record, RUN, { value: this });
  }

  /** The run that was made with this record; undefined for others. So no envelope needs a look-up. */
  static of(ref: RunRef & { [RUN]?: LocalRun }): LocalRun | undefined {
    return ref[RUN];
  }

  get lastSeq(): number {
    return this.tail.last;
  }

  get endOffset(): number {
    return this.tail.endOffset;
  }

  /** How much of the committed log is kept at most, in characters. */
  get keptLength(): number {
    return this.endOffset - this.trimmedOffset;
  }

  get logExtent(): LogExtent {
    return { last: this.lastSeq, endOffset: this.endOffset, length: this.keptLength };
  }

  /** The length of the part in the journal, in characters. */
  get journaledLength(): number {
    return this.journaled ? this.endOffset - this.journaled.afterOffset : 0;
  }

  /** Drops from memory what the table `log` has. */
  dropTail(): void {
    if (this.journaled) {
      while (this.tail.trim(this.journaledLength));
      return;
    }
    const { last, endOffset, ended } = this.tail;
    this.tail = new EventLog(last, endOffset);
    if (ended) this.tail.end();
  }
}
