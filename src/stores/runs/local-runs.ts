import type { LocalRun } from './local-run.js';

const TAIL_LENGTH = 256 * 1024;
/** How much of all logs stays in memory, in characters. */
const TOTAL_TAIL_LENGTH = 64 * 1024 * 1024;
/** How many ended runs stay in memory, and how long, for followers that still read their last envelopes. */
const ENDED_RUNS = { count: 1_000, ms: 10_000 };

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

  /** How many characters of JSON the logs of the unfinished runs have. */
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
    if (run?.owner !== owner) return undefined;
    if (run.endedAt === undefined || this.now() - run.endedAt < ENDED_RUNS.ms) return run;
    this.drop(runId);
    return undefined;
  }

  /** The run, if it is unfinished. */
  findUnfinished(owner: string, runId: string): LocalRun | undefined {
    const run = this.#unfinished.get(runId);
    return run?.owner === owner ? run : undefined;
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
    for (const run of this.#tailLengths.keys()) {
      if (this.#tailLength <= TOTAL_TAIL_LENGTH) break;
      run.dropTail();
      this.#count(run, 0);
    }
  }

  end(run: LocalRun): void {
    this.#unfinished.delete(run.id);
    this.#ended.set(run.id, run);
    for (const [id, oldest] of this.#ended) {
      const isOld = this.now() - oldest.endedAt! >= ENDED_RUNS.ms;
      if (!isOld && this.#ended.size <= ENDED_RUNS.count) break;
      this.drop(id);
    }
  }

  /** Drops the ended runs of a session from memory: only the database knows whether they were erased. */
  dropEnded(owner: string, sessionId: string): void {
    for (const [id, run] of this.#ended)
      if (run.owner === owner && run.sessionId === sessionId) this.drop(id);
  }

  drop(runId: string): void {
    const run = this.#unfinished.get(runId) ?? this.#ended.get(runId);
    if (run) this.#count(run, 0);
    this.#unfinished.delete(runId);
    this.#ended.delete(runId);
  }

  #count(run: LocalRun, length: number): void {
    this.#tailLength += length - (this.#tailLengths.get(run) ?? 0);
    this.#tailLengths.delete(run);
    if (length > 0) this.#tailLengths.set(run, length);
  }
}
