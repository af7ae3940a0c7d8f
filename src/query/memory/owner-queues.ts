import type { Run } from './runs.js';

/** The unfinished runs of an owner. */
interface OwnerRuns {
  waiting: number;
  running: number;
  /** Those that are ready, by their rounds. */
  readonly ready: Map<number, Run>;
  /** The last round of these; -1 if there is none. */
  lastRound: number;
  /** The first runs of their sessions, which wait because the owner has reached the limit of active runs. */
  readonly deferred: Set<Run>;
}

/**
 * The unfinished runs of one module, by their owners: gives slots to owners in turn, and holds their limit.
 *
 * A run that becomes ready belongs to a round. An owner has one ready run of each round, and runs start in the order of their
 * rounds. A run is active when it executes or is ready. A run that would exceed the limit of active runs is deferred.
 */
export class OwnerQueues {
  readonly #owners = new Map<string, OwnerRuns>();
  readonly #rounds = new Map<number, Set<Run>>();
  /** The round of each run that is ready. */
  readonly #roundOf = new Map<Run, number>();
  /** The first round that may have ready runs. */
  #present = 0;
  #waiting = 0;

  get waiting(): number {
    return this.#waiting;
  }

  waitingOf(owner: string): number {
    return this.#owners.get(owner)?.waiting ?? 0;
  }

  /** Whether one more run of an owner may become active. */
  hasFreePlace(owner: string, limit: number): boolean {
    const runs = this.#owners.get(owner);
    return !runs || (activeOf(runs) < limit && runs.deferred.size === 0);
  }

  add(run: Run): void {
    this.#waiting++;
    this.#of(run.owner).waiting++;
  }

  /** A run that waits is the first of its session. It becomes ready, or is deferred. */
  promote(run: Run, limit: number): void {
    if (this.hasFreePlace(run.owner, limit)) this.#makeReady(run);
    else this.#of(run.owner).deferred.add(run);
  }

  isReady(run: Run): boolean {
    return this.#roundOf.has(run);
  }

  /** The run that is to be started next, if one is ready. */
  get next(): Run | undefined {
    if (this.#roundOf.size === 0) return undefined;
    while (!this.#rounds.has(this.#present)) this.#present++;
    const [first] = this.#rounds.get(this.#present)!;
    return first;
  }

  /** A run that waits executes from now on. */
  start(run: Run): void {
    this.#leave(run);
    this.#of(run.owner).running++;
  }

  end(run: Run, isWaiting: boolean): void {
    if (isWaiting) this.#leave(run);
    else this.#of(run.owner).running--;
  }

  /** Makes deferred runs of an owner ready, as far as the limit allows. Returns the first of them. */
  balance(owner: string, limit: number): Run | undefined {
    const runs = this.#of(owner);
    let first: Run | undefined;
    for (const run of runs.deferred) {
      if (activeOf(runs) >= limit) break;
      runs.deferred.delete(run);
      this.#makeReady(run);
      first ??= run;
    }
    if (runs.waiting + runs.running === 0) this.#owners.delete(owner);
    return first;
  }

  #makeReady(run: Run): void {
    const runs = this.#of(run.owner);
    const round = Math.max(this.#firstRound, runs.lastRound + 1);
    runs.ready.set(round, run);
    runs.lastRound = round;
    this.#roundOf.set(run, round);
    const others = this.#rounds.get(round) ?? new Set();
    this.#rounds.set(round, others.add(run));
  }

  /** The first round that has ready runs. */
  get #firstRound(): number {
    if (this.next === undefined) this.#present = 0;
    return this.#present;
  }

  #leave(run: Run): void {
    this.#waiting--;
    const runs = this.#of(run.owner);
    runs.waiting--;
    runs.deferred.delete(run);
    const round = this.#roundOf.get(run);
    if (round === undefined) return;
    this.#roundOf.delete(run);
    const others = this.#rounds.get(round)!;
    others.delete(run);
    if (others.size === 0) this.#rounds.delete(round);
    runs.ready.delete(round);
    if (runs.ready.size === 0) runs.lastRound = -1;
    else while (!runs.ready.has(runs.lastRound)) runs.lastRound--;
  }

  #of(owner: string): OwnerRuns {
    let runs = this.#owners.get(owner);
    if (!runs) {
      runs = { waiting: 0, running: 0, ready: new Map(), lastRound: -1, deferred: new Set() };
      this.#owners.set(owner, runs);
    }
    return runs;
  }
}

function activeOf({ running, ready }: OwnerRuns): number {
  return running + ready.size;
}
