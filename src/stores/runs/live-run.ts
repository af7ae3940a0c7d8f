import { doneText, EventLog, type RunEnd, type RunRecord, type RunStatus } from '../../query/index.js';

/** A run that this process executes, or has in its line: what its followers read without asking the database. */
export class LiveRun implements RunRecord {
  status: RunStatus;
  startedAt: number | undefined;
  endedAt: number | undefined;
  end: RunEnd | undefined;
  readonly id: string;
  readonly owner: string;
  readonly sessionId: string | undefined;
  readonly createdAt: number;

  /** The newest of what is committed. */
  tail: EventLog;
  /** Envelopes that wait for their commit. */
  waiting: string[] = [];
  waitingLength = 0;
  /** Nothing more can be recorded: something before it could not be, or another process has taken the run up. */
  isLost = false;
  /** Somebody is ending the run. */
  isEnding = false;
  /** The run has been told to be the next of its session, or was never in line. */
  isCalledUp = false;
  /** Up to here the log may have been trimmed, in characters since its beginning. */
  trimmedTo = 0;

  /**
   * @param record the run as it was admitted or found
   * @param position where its log ends, in characters since its beginning
   */
  constructor(record: RunRecord, position: number) {
    this.id = record.id;
    this.owner = record.owner;
    this.sessionId = record.sessionId;
    this.createdAt = record.createdAt;
    this.startedAt = record.startedAt;
    this.status = record.status;
    this.tail = new EventLog(record.lastSeq, position);
  }

  get lastSeq(): number {
    return this.tail.last;
  }

  /** Where the log ends, in characters since its beginning. */
  get position(): number {
    return this.tail.endOffset;
  }

  /** Where its log ends, and how much of it is kept at most, in characters. */
  get extent(): { last: number; position: number; length: number } {
    return { last: this.lastSeq, position: this.position, length: this.position - this.trimmedTo };
  }

  /** The run has ended as `record` says, and `done` is committed. */
  finish(record: RunRecord): void {
    const { status, end, endedAt } = record;
    Object.assign(this, { status, end, endedAt });
    this.tail.append(doneText(end!));
    this.tail.end();
  }

  /** Forgets the tail: it can be read from the database. */
  forget(): void {
    const { last, endOffset: position, ended } = this.tail;
    this.tail = new EventLog(last, position);
    if (ended) this.tail.end();
  }

  /** The run as it is now. */
  snapshot(): RunRecord {
    const { id, owner, sessionId, status, createdAt, startedAt, endedAt, lastSeq, end } = this;
    return { id, owner, sessionId, status, createdAt, startedAt, endedAt, lastSeq, end };
  }
}
