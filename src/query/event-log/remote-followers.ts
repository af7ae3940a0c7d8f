/** A process that has not repeated `follow` for so many rounds has no followers of the run any more. */
const MISSED_ROUNDS = 3;

/** The other processes that follow a run of this one: of each, how far its fastest follower has read. */
export class RemoteFollowers {
  readonly #processes = new Map<string, { offset: number; missedRounds: number }>();

  /** How many processes there are. */
  get size(): number {
    return this.#processes.size;
  }

  /** How far the fastest follower has read, in characters of JSON; 0 without followers. */
  get offset(): number {
    let fastest = 0;
    for (const { offset } of this.#processes.values()) fastest = Math.max(fastest, offset);
    return fastest;
  }

  /** A process follows the run, or says so again. Returns whether it is new. */
  add(process: string, offset: number): boolean {
    const isNew = !this.#processes.has(process);
    this.#processes.set(process, { offset, missedRounds: 0 });
    return isNew;
  }

  /** Returns whether the process has followed the run. */
  remove(process: string): boolean {
    return this.#processes.delete(process);
  }

  /** Counts a round, and returns the processes that have not been heard of for too many. */
  missing(): string[] {
    const processes = [...this.#processes];
    return processes.filter(([, each]) => ++each.missedRounds > MISSED_ROUNDS).map(([process]) => process);
  }
}
