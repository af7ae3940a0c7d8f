import { doneText, EventLog, type RunRecord } from '../../query/index.js';
import type { LogExtent } from './segments.js';
import type { RunUsage } from './usage-rows.js';

const TAIL_LENGTH = 256 * 1024;
/** How much of all logs stays in memory, in characters. */
const TOTAL_TAIL_LENGTH = 64 * 1024 * 1024;
/** In which steps a tail is counted: thousands of short envelopes a second would move thousands of runs to the end of the map. */
const COUNTED_LENGTH = 1024;
/** How many ended runs stay in memory, and how long, for followers that still read their last envelopes. */
const ENDED_RUNS = { count: 1_000, ms: 10_000 };

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
  /** Settles when the database has the run. Undefined if it has had the run from the beginning. */
  stored: Promise<void> | undefined;
  /** The end of the run is decided and being recorded. */
  isFinishing = false;
  /** Settles when what the run asks is in the database, or cannot be: then the run is in no process, or goes on. */
  asking: Promise<unknown> | undefined;
  /** The log may have been trimmed up to here, in characters since its beginning. */
  trimmedOffset = 0;

  readonly id: string;
  readonly attempt: number;

  /**
   * @param record the run as this process knows it. Its `lastSeq` is the one at the start, until the run has ended
   * @param process the id of this process when it started the run; see `Lease`
   * @param endOffset where its log ends, in characters since its beginning
   */
  constructor(
    public record: RunRecord,
    readonly module: string,
    readonly process: string,
    endOffset: number,
  ) {
    this.id = record.id;
    this.attempt = record.attempt;
    this.tail = new EventLog(record.lastSeq, endOffset);
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

  /** Drops the tail from memory. The database still has it. */
  dropTail(): void {
    const { last, endOffset, ended } = this.tail;
    this.tail = new EventLog(last, endOffset);
    if (ended) this.tail.end();
  }
}

/** The unfinished runs that this process executes, and the runs of this process that ended just now. */
export class LocalRuns {
  readonly #unfinished = new Map<string, LocalRun>();
  readonly #ended = new Map<string, LocalRun>();
  /** The length of each tail as it is counted in `#tailLength`; the tail that grew last comes last. */
  readonly #tailLengths = new Map<LocalRun, number>();
  #tailLength = 0;

  constructor(private readonly now: () => number) {}

  get unfinished(): ReadonlyMap<string, LocalRun> {
    return this.#unfinished;
  }

  get unfinishedLength(): number {
    let length = 0;
    for (const run of this.#unfinished.values()) length += run.keptLength;
    return length;
  }

  add(run: LocalRun): void {
    this.#unfinished.set(run.id, run);
  }

  /** The run, if it is unfinished or ended just now. */
  find(owner: string, runId: string): LocalRun | undefined {
    const run = this.#unfinished.get(runId) ?? this.#ended.get(runId);
    if (run?.record.owner !== owner) return undefined;
    const { endedAt } = run.record;
    if (endedAt === undefined || this.now() - endedAt < ENDED_RUNS.ms) return run;
    this.drop(runId);
    return undefined;
  }

  /** The run, if it is unfinished. */
  findUnfinished(owner: string, runId: string): LocalRun | undefined {
    const run = this.#unfinished.get(runId);
    return run?.record.owner === owner ? run : undefined;
  }

  /** Drops all unfinished runs, because other processes own them now. Returns them. */
  loseAll(): LocalRun[] {
    const runs = [...this.#unfinished.values()];
    for (const run of runs) {
      run.isUnwritable = true;
      this.drop(run.id);
    }
    return runs;
  }

  /** Limits the tails in memory after one of them grew. */
  limitTails(grown: LocalRun): void {
    while (grown.tail.length > TAIL_LENGTH && grown.tail.trim());
    this.#count(grown, grown.tail.length);
    // A map keeps an empty place for each key that moved to its end, and passes over all of them to find its first key. After
    // each envelope, that would take longer than all the rest.
    if (this.#tailLength <= TOTAL_TAIL_LENGTH) return;
    for (const run of this.#tailLengths.keys()) {
      run.dropTail();
      this.#count(run, 0);
      if (this.#tailLength <= TOTAL_TAIL_LENGTH) return;
    }
  }

  /** Ends a run as `record` says. Its `done` must be committed. */
  end(run: LocalRun, record: RunRecord): void {
    run.record = record;
    run.tail.append(doneText(record.end!));
    run.tail.end();
    this.limitTails(run);
    this.#unfinished.delete(run.id);
    this.#ended.set(run.id, run);
    for (const [id, oldest] of this.#ended) {
      const isOld = this.now() - oldest.record.endedAt! >= ENDED_RUNS.ms;
      if (!isOld && this.#ended.size <= ENDED_RUNS.count) break;
      this.drop(id);
    }
  }

  /** Drops the ended runs of a session from memory: only the database knows whether they were erased. */
  dropEnded(owner: string, sessionId: string): void {
    for (const { id, record } of this.#ended.values())
      if (record.owner === owner && record.sessionId === sessionId) this.drop(id);
  }

  drop(runId: string): void {
    const run = this.#unfinished.get(runId) ?? this.#ended.get(runId);
    if (run) this.#count(run, 0);
    this.#unfinished.delete(runId);
    this.#ended.delete(runId);
  }

  #count(run: LocalRun, length: number): void {
    const counted = Math.ceil(length / COUNTED_LENGTH) * COUNTED_LENGTH;
    const before = this.#tailLengths.get(run) ?? 0;
    if (counted === before) return;
    this.#tailLength += counted - before;
    this.#tailLengths.delete(run);
    if (counted > 0) this.#tailLengths.set(run, counted);
  }
}
