import type { Run } from './run.js';

/** Runs with something that is due at a time, in this order. */
export class DueRuns {
  readonly #all: { run: Run; dueAt: number }[] = [];

  add(run: Run, dueAt: number): void {
    this.#all.splice(this.#countUntil(dueAt), 0, { run, dueAt });
  }

  remove(run: Run, dueAt: number): void {
    const all = this.#all;
    for (let i = this.#countUntil(dueAt) - 1; all[i]?.dueAt === dueAt; i--)
      if (all[i]!.run === run) return void all.splice(i, 1);
  }

  /** Removes those that are due at a time, `count` at most, and returns them. */
  take(now: number, count: number): Run[] {
    return this.#all.splice(0, Math.min(count, this.#countUntil(now))).map(({ run }) => run);
  }

  /** How many are due at a time (a binary search). */
  #countUntil(now: number): number {
    let [from, to] = [0, this.#all.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (this.#all[middle]!.dueAt <= now) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
