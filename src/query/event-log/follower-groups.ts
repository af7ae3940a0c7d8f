import type { FollowerChanged } from '../ports/run-listener.js';
import type { RunStore } from '../ports/run-store.js';
import { Followers } from './followers.js';

/** How often a process says which runs it follows, and looks at their logs in case that a signal was lost. */
const ROUND_MS = 5_000;

/** The followers of all runs that somebody follows, or that this process has. */
export class FollowerGroups {
  /** How many callers of this process follow runs. */
  size = 0;
  readonly #groups = new Map<string, Followers>();
  #timer: NodeJS.Timeout | undefined;

  /** @param store has the logs. What others are told is what it returns at once: what it has in memory */
  constructor(
    readonly store: Pick<RunStore, 'signals' | 'read' | 'find'>,
    readonly onChange: (event: 'followed' | 'unfollowed', change: FollowerChanged) => void = () => undefined,
  ) {}

  of(run: Followers['run']): Followers {
    let group = this.#groups.get(run.id);
    if (!group) {
      group = new Followers(run, this);
      this.#groups.set(run.id, group);
      if (this.store.signals.isShared) this.#timer ??= setInterval(() => this.#round(), ROUND_MS).unref();
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
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Signals may have been lost: all followers of runs in other processes look at the log. */
  catchUp(): void {
    for (const group of this.#groups.values()) {
      if (!group.isElsewhere) continue;
      group.report();
      group.notify();
    }
  }

  disconnectElsewhere(): void {
    for (const group of this.#groups.values()) if (group.isElsewhere) group.disconnectAll();
  }

  #round(): void {
    for (const group of this.#groups.values()) group.checkRemote();
    this.catchUp();
  }
}
