import { doneText, type RunRecord, type RunRef } from '../../query/index.js';
import { LocalRun } from './local-run.js';

const TAIL_LENGTH = 256 * 1024;
/** How much of all logs stays in memory, in characters. */
const TOTAL_TAIL_LENGTH = 64 * 1024 * 1024;
/** In which steps a tail is counted: thousands of short envelopes a second would move thousands of runs to the end of the set. */
const COUNTED_LENGTH = 1024;
/** How many tails are dropped after one grew. The part that is in the journal stays, so that this may not be enough. */
const DROPPED_AT_ONCE = 16;
/** How many ended runs stay in memory, and how long, for followers that still read their last envelopes. */
const ENDED_RUNS = { count: 1_000, ms: 10_000 };

/** The unfinished runs that this process executes, and the runs of this process that ended just now. */
export class LocalRuns {
  readonly #unfinished = new Map<string, LocalRun>();
  readonly #ended = new Map<string, LocalRun>();
  /** Those that have a tail; the tail that grew last comes last. */
  readonly #withTail = new Set<LocalRun>();
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
    run.keptBy = this;
  }

  /** The run, if it is unfinished or ended just now. */
  find(ref: RunRef): LocalRun | undefined {
    const run = this.#get(ref);
    const endedAt = run?.record.endedAt;
    if (!run || endedAt === undefined || this.now() - endedAt < ENDED_RUNS.ms) return run;
    this.drop(run);
    return undefined;
  }

  /** The run, if it is unfinished. */
  findUnfinished(ref: RunRef): LocalRun | undefined {
    const run = this.#get(ref);
    return run?.record.endedAt === undefined ? run : undefined;
  }

  /** Drops all unfinished runs, because other processes own them now. Returns them. */
  loseAll(): LocalRun[] {
    const runs = [...this.#unfinished.values()];
    for (const run of runs) {
      run.isUnwritable = true;
      this.drop(run);
    }
    return runs;
  }

  /** Limits the tails in memory after one of them grew. */
  limitTails(grown: LocalRun): void {
    while (grown.tail.length > TAIL_LENGTH && grown.tail.trim());
    this.#count(grown, grown.tail.length);
    // A set keeps an empty place for each key that moved to its end, and passes over all of them to find its first key. After
    // each envelope, that would take longer than all the rest.
    if (this.#tailLength <= TOTAL_TAIL_LENGTH) return;
    let left = DROPPED_AT_ONCE;
    for (const run of this.#withTail) {
      run.dropTail();
      this.#recount(run, run.tail.length);
      if (this.#tailLength <= TOTAL_TAIL_LENGTH || --left === 0) return;
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
    for (const oldest of this.#ended.values()) {
      const isOld = this.now() - oldest.record.endedAt! >= ENDED_RUNS.ms;
      if (!isOld && this.#ended.size <= ENDED_RUNS.count) break;
      this.drop(oldest);
    }
  }

  /** Drops the ended runs of a session from memory: only the database knows whether they were erased. */
  dropEnded(owner: string, sessionId: string): void {
    for (const run of this.#ended.values())
      if (run.record.owner === owner && run.record.sessionId === sessionId) this.drop(run);
  }

  /** Drops runs from memory that the database is not to have any more. */
  dropRemoved(runIds: string[]): void {
    for (const id of runIds) {
      const run = this.#unfinished.get(id) ?? this.#ended.get(id);
      if (run) this.drop(run);
    }
  }

  /** Drops a run from memory. A later attempt of it, which this process may have taken meanwhile, stays. */
  drop(run: LocalRun): void {
    this.#count(run, 0);
    run.keptBy = undefined;
    // Its record may be held for long, for example while the run asks.
    run.dropTail();
    for (const runs of [this.#unfinished, this.#ended]) if (runs.get(run.id) === run) runs.delete(run.id);
  }

  #get(ref: RunRef): LocalRun | undefined {
    const named = LocalRun.of(ref);
    if (named?.keptBy === this) return named;
    const run = this.#unfinished.get(ref.id) ?? this.#ended.get(ref.id);
    return run?.record.owner === ref.owner ? run : undefined;
  }

  #count(run: LocalRun, length: number): void {
    if (countedOf(length) !== run.countedLength) this.#recount(run, length);
  }

  /** The run comes last afterwards. */
  #recount(run: LocalRun, length: number): void {
    const counted = countedOf(length);
    this.#tailLength += counted - run.countedLength;
    run.countedLength = counted;
    this.#withTail.delete(run);
    if (counted > 0) this.#withTail.add(run);
  }
}

function countedOf(length: number): number {
  return Math.ceil(length / COUNTED_LENGTH) * COUNTED_LENGTH;
}
