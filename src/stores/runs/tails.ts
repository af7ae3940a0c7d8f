import type { LiveRun } from './live-run.js';

/** Of one log, so much stays at hand for its followers, in characters; of all together no more than `ALL_LENGTH`. */
const TAIL_LENGTH = 256 * 1024;
const ALL_LENGTH = 64 * 1024 * 1024;
/** Runs that have ended stay at hand for those who are reading their last envelopes. */
const ENDED = { count: 1_000, ms: 10_000 };

/** The runs that are alive in this process, and those that have just ended. */
export class Tails {
  readonly #live = new Map<string, LiveRun>();
  readonly #ended = new Map<string, LiveRun>();
  /** In the order in which something was appended last; the length that each is counted with. */
  readonly #lengths = new Map<LiveRun, number>();
  #length = 0;

  get live(): ReadonlyMap<string, LiveRun> {
    return this.#live;
  }

  add(run: LiveRun): void {
    this.#live.set(run.id, run);
  }

  /** The run, if it is alive here or has just ended. */
  find(owner: string, runId: string): LiveRun | undefined {
    const run = this.#live.get(runId) ?? this.#ended.get(runId);
    if (run?.owner !== owner) return undefined;
    if (run.endedAt === undefined || Date.now() - run.endedAt < ENDED.ms) return run;
    this.drop(runId);
    return undefined;
  }

  /** Something was appended to a run's tail. */
  grew(run: LiveRun): void {
    while (run.tail.length > TAIL_LENGTH && run.tail.trim());
    this.#count(run, run.tail.length);
    for (const other of this.#lengths.keys()) {
      if (this.#length <= ALL_LENGTH) break;
      other.forget();
      this.#count(other, 0);
    }
  }

  /** A run has ended. */
  ended(run: LiveRun): void {
    this.#live.delete(run.id);
    this.#ended.set(run.id, run);
    for (const [id, other] of this.#ended) {
      const isOld = Date.now() - other.endedAt! >= ENDED.ms;
      if (!isOld && this.#ended.size <= ENDED.count) break;
      this.drop(id);
    }
  }

  /** Forgets a run, as far as it is here. */
  drop(runId: string): void {
    const run = this.#live.get(runId) ?? this.#ended.get(runId);
    if (run) this.#count(run, 0);
    this.#live.delete(runId);
    this.#ended.delete(runId);
  }

  #count(run: LiveRun, length: number): void {
    this.#length += length - (this.#lengths.get(run) ?? 0);
    this.#lengths.delete(run);
    if (length > 0) this.#lengths.set(run, length);
  }
}
