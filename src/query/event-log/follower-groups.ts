import type { FollowerChanged } from '../ports/run-listener.js';
import type { RunStore } from '../ports/run-store.js';
import { Followers } from './followers.js';

/** How often a process says which runs it follows, and looks at their logs in case that a signal was lost. */
const ROUND_MS = 5_000;

/** How often it looks while signals do not arrive: after so many milliseconds for each follower, in this range. */
const LOOK_MS = { each: 10, least: 500, most: ROUND_MS };

/** The followers of all runs that somebody follows, or that this process has. */
export class FollowerGroups {
  /** How many callers of this process follow runs. */
  size = 0;
  readonly #groups = new Map<string, Followers>();
  #timer: NodeJS.Timeout | undefined;
  #roundAt = performance.now();

  /** @param store has the logs. What others are told is what it returns at once: what it has in memory */
  constructor(
    readonly store: Pick<RunStore, 'signals' | 'read' | 'find'> & Partial<Pick<RunStore, 'wish'>>,
    readonly onChange: (event: 'followed' | 'unfollowed', change: FollowerChanged) => void = () => undefined,
  ) {}

  of(run: Followers['run']): Followers {
    let group = this.#groups.get(run.id);
    if (!group) {
      group = new Followers(run, this);
      this.#groups.set(run.id, group);
      if (this.store.signals.isShared) this.#timer ??= this.#later();
    }
    return group;
  }

  /** The followers of a run, if there are any or this process has the run. */
  get(runId: string): Followers | undefined {
    return this.#groups.get(runId);
  }

  /** Resolves when the followers of the runs of a session have left, which they do at the end of the log. */
  async emptied(owner: string, sessionId: string): Promise<void> {
    const groups = [...this.#groups.values()].filter(
      ({ run }) => run.owner === owner && run.sessionId === sessionId,
    );
    await Promise.all(groups.map((group) => group.emptied()));
  }

  remove({ run }: Followers): void {
    this.#groups.delete(run.id);
    if (this.#groups.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Signals may have been lost: all followers of runs in other processes look at the log. */
  catchUp(): void {
    for (const group of this.#elsewhere()) {
      group.report();
      group.notify();
    }
  }

  disconnectElsewhere(): void {
    for (const group of this.#elsewhere()) group.disconnectAll();
  }

  /** A round, or a look at the logs alone, after a pause. */
  #later(): NodeJS.Timeout {
    return setTimeout(() => {
      // A timer may be a little early.
      if (performance.now() - this.#roundAt > ROUND_MS - LOOK_MS.least) this.#round();
      else for (const group of this.#elsewhere()) group.notify();
      this.#timer = this.#groups.size > 0 ? this.#later() : undefined;
    }, this.#pauseMs).unref();
  }

  get #pauseMs(): number {
    if (this.store.signals.trouble === undefined) return ROUND_MS;
    const followers = this.#elsewhere().reduce((sum, { size }) => sum + size, 0);
    return Math.min(Math.max(followers * LOOK_MS.each, LOOK_MS.least), LOOK_MS.most);
  }

  #elsewhere(): Followers[] {
    return [...this.#groups.values()].filter(({ isElsewhere }) => isElsewhere);
  }

  #round(): void {
    this.#roundAt = performance.now();
    for (const group of this.#groups.values()) group.checkRemote();
    this.catchUp();
  }
}
