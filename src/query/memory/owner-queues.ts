import type { Run } from './run.js';

interface OwnerRuns {
  waiting: number;
  running: number;
  /** Those that are ready, in the order in which they start. */
  readonly ready: Run[];
  /** Their rounds, in the same order. */
  readonly rounds: number[];
  /** The first runs of their sessions, which wait because the owner has reached the limit of active runs. */
  readonly deferred: Set<Run>;
}

/**
 * The unfinished runs of one module, by their owners: gives slots to owners in turn, and holds their limit.
 *
 * A run that becomes ready belongs to a round. An owner has one ready run of each round, and owners get slots in the order of
 * their rounds. A run that was started before gets the first of its owner's rounds. A run is active when it executes or is ready.
 * A run that would exceed the limit of active runs is deferred.
 */
export class OwnerQueues {
  /** How many runs wait. */
  waiting = 0;
  readonly #owners = new Map<string, OwnerRuns>();
  /** The owners with ready runs, by rounds. The first round is never empty; cancelled runs may leave a later one empty. */
  readonly #rounds: Set<OwnerRuns>[] = [];
  /** The number of the first round. */
  #firstRound = 0;

  /** @param limit how many runs of one owner may be active. Asked again and again */
  constructor(private readonly limit: () => number) {}

  waitingOf(owner: string): number {
    return this.#owners.get(owner)?.waiting ?? 0;
  }

  hasFreePlace(owner: string): boolean {
    const runs = this.#owners.get(owner);
    return !runs || (activeOf(runs) < this.limit() && runs.deferred.size === 0);
  }

  get next(): Run | undefined {
    return this.#rounds[0]?.values().next().value?.ready[0];
  }

  add(run: Run): void {
    this.waiting++;
    this.#of(run.owner).waiting++;
  }

  start(run: Run, startedAt: number): void {
    this.leave(run);
    this.#of(run.owner).running++;
    run.status = 'running';
    run.startedAt ??= startedAt;
  }

  /** A run that executes asks, and is not active. */
  pause(run: Run): void {
    this.leave(run);
    run.status = 'input_required';
    this.promote(run.owner);
  }

  /** A run that has asked waits again, before the runs of its owner that were never started. */
  wait(run: Run): void {
    run.status = 'waiting';
    this.add(run);
    const runs = this.#of(run.owner);
    const deferred = [...runs.deferred];
    const youngest = runs.ready.at(-1);
    if (youngest && !wasStarted(youngest) && activeOf(runs) >= this.limit()) {
      this.#leaveRound(youngest, runs);
      deferred.unshift(youngest);
    }
    runs.deferred.clear();
    for (const each of [...deferred.filter(wasStarted), run, ...deferred.filter((it) => !wasStarted(it))])
      runs.deferred.add(each);
    this.promote(run.owner);
  }

  /** A run no longer does what its status says: wait or execute. */
  leave(run: Run): void {
    if (run.status === 'input_required') return;
    const runs = this.#of(run.owner);
    if (run.status === 'running') return void runs.running--;
    this.waiting--;
    runs.waiting--;
    runs.deferred.delete(run);
    this.#leaveRound(run, runs);
  }

  #leaveRound(run: Run, runs: OwnerRuns): void {
    const index = runs.ready.indexOf(run);
    if (index === -1) return;
    runs.ready.splice(index, 1);
    const [round] = runs.rounds.splice(index, 1);
    this.#rounds[round! - this.#firstRound]!.delete(runs);
    while (this.#rounds[0]?.size === 0) {
      this.#rounds.shift();
      this.#firstRound++;
    }
  }

  /**
   * Makes runs of an owner ready, as far as the limit allows. Call it when a run has ended or is the first of its session.
   *
   * @param first the run that is the first of its session now
   * @returns the first run that became ready
   */
  promote(owner: string, first?: Run): Run | undefined {
    const runs = this.#of(owner);
    if (first) runs.deferred.add(first);
    let promoted: Run | undefined;
    for (const run of runs.deferred) {
      if (activeOf(runs) >= this.limit()) break;
      runs.deferred.delete(run);
      this.#makeReady(run, runs);
      promoted ??= run;
    }
    if (runs.waiting + runs.running === 0) this.#owners.delete(owner);
    return promoted;
  }

  #makeReady(run: Run, runs: OwnerRuns): void {
    const { ready, rounds } = runs;
    ready.splice(wasStarted(run) ? ready.filter(wasStarted).length : ready.length, 0, run);
    const round = Math.max(this.#firstRound, (rounds.at(-1) ?? -1) + 1);
    rounds.push(round);
    (this.#rounds[round - this.#firstRound] ??= new Set()).add(runs);
  }

  #of(owner: string): OwnerRuns {
    let runs = this.#owners.get(owner);
    if (!runs) {
      runs = { waiting: 0, running: 0, ready: [], rounds: [], deferred: new Set() };
      this.#owners.set(owner, runs);
    }
    return runs;
  }
}

function wasStarted({ startedAt }: Run): boolean {
  return startedAt !== undefined;
}

function activeOf({ running, ready }: OwnerRuns): number {
  return running + ready.length;
}
