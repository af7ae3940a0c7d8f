import { doneText, EventLog, type RunEnd, type RunRecord } from '../../query/index.js';
import type { LogExtent } from './segments.js';

/** The end of a run that waits for its commit. */
export interface WaitingEnd {
  end: RunEnd;
  endedAt: number;
  /** Whether the run was ended. Set by the commit. */
  isEnded: boolean;
}

/** A run that this process owns: its state, and the newest part of its log, which followers read without the database. */
export class LocalRun {
  /** The newest committed envelopes. The older ones are in the database only. */
  tail: EventLog;
  /** Envelopes that wait for their commit. */
  waiting: string[] = [];
  /** The length of these envelopes, in characters. */
  waitingLength = 0;
  /** A checkpoint that waits for its commit: the state as JSON, and how many of the waiting envelopes are before it. */
  checkpoint: { state: string; after: number } | undefined;
  /** The end of the run, if it waits for the commit of these envelopes. */
  waitingEnd: WaitingEnd | undefined;
  /** Nothing can be appended any more: an earlier envelope could not be written, or another process owns the run. */
  isUnwritable = false;
  /** The lease of this process has ended: another process decides about the run. */
  isLost = false;
  /** The end of the run is decided and being recorded. */
  isFinishing = false;
  /** The log may have been trimmed up to here, in characters since its beginning. */
  trimmedOffset = 0;

  #record: RunRecord;

  /**
   * @param record the run as it was started
   * @param process the id of this process when it started the run; see `Lease`
   * @param endOffset where its log ends, in characters since its beginning
   */
  constructor(
    record: RunRecord,
    readonly module: string,
    readonly process: string,
    endOffset: number,
  ) {
    this.#record = record;
    this.tail = new EventLog(record.lastSeq, endOffset);
  }

  /** The run as it is now, as far as this process knows. */
  get record(): RunRecord {
    return { ...this.#record, lastSeq: this.lastSeq };
  }

  get id(): string {
    return this.#record.id;
  }

  get owner(): string {
    return this.#record.owner;
  }

  get sessionId(): string | undefined {
    return this.#record.sessionId;
  }

  get attempt(): number {
    return this.#record.attempt;
  }

  get endedAt(): number | undefined {
    return this.#record.endedAt;
  }

  get lastSeq(): number {
    return this.tail.last;
  }

  /** Where the committed log ends, in characters since its beginning. */
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

  /** The run continues when nobody follows it. */
  detach(): void {
    this.#record = { ...this.#record, detached: true };
  }

  /** Ends the run as `record` says. Its `done` must be committed. */
  finish(record: RunRecord): void {
    this.#record = record;
    this.tail.append(doneText(record.end!));
    this.tail.end();
  }

  /** Drops the tail from memory. The database still has it. */
  dropTail(): void {
    const { last, endOffset, ended } = this.tail;
    this.tail = new EventLog(last, endOffset);
    if (ended) this.tail.end();
  }
}
