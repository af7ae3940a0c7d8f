/** A follower as its group sees it. */
export interface AnyFollower {
  /** How far it has read, in characters of JSON since the beginning of the log. */
  readonly offset: number;
  /** The log has news: reads on, if its connection takes more. */
  notify(): void;
  /** Ends its stream in a way that can be resumed. */
  disconnect(): void;
}

/**
 * The most groups that wait for the end of the tick. When there are more, they are flushed at once: after thousands of other
 * runs, the processor's caches would no longer hold the data of the first.
 */
const MAX_PENDING = 64;

/** Groups whose log has news in this tick of the event loop. */
let pending: Followers[] = [];

function flushAll(): void {
  const groups = pending;
  pending = [];
  for (const group of groups) group.flush();
}

/**
 * The followers of one log.
 *
 * Everything that is appended in one tick of the event loop leaves in one write. For this, `notify` only marks the group,
 * and one `setImmediate` flushes all marked groups.
 */
export class Followers {
  /** In the order in which they joined. */
  readonly #members: AnyFollower[] = [];
  #onAdvance: (() => void) | undefined;
  #emptied: Promise<void> | undefined;
  #onEmptied: (() => void) | undefined;
  #isPending = false;

  get size(): number {
    return this.#members.length;
  }

  join(member: AnyFollower): void {
    if (this.#members.push(member) === 1) this.onFirst();
  }

  protected onFirst(): void {}

  protected onEmpty(): void {}

  leave(member: AnyFollower): void {
    const index = this.#members.indexOf(member);
    if (index === -1) return;
    this.#members.splice(index, 1);
    this.advanced(member);
    if (this.#members.length > 0) return;
    this.#onEmptied?.();
    this.#emptied = this.#onEmptied = undefined;
    this.onEmpty();
  }

  notify(): void {
    if (this.#isPending || this.#members.length === 0) return;
    if (pending.length === MAX_PENDING) flushAll();
    this.#isPending = true;
    if (pending.push(this) === 1) setImmediate(flushAll);
  }

  flush(): void {
    this.#isPending = false;
    // Backwards, because a follower that has read everything leaves.
    for (let index = this.#members.length - 1; index >= 0; index--) this.#members[index]?.notify();
    this.advanced();
  }

  /**
   * How far the fastest follower is behind.
   *
   * @returns characters of JSON; 0 without followers
   */
  lag(endOffset: number): number {
    return this.#members.length === 0 ? 0 : endOffset - this.offset;
  }

  /** How far the fastest follower has read, in characters of JSON; 0 without followers. */
  get offset(): number {
    let fastest = 0;
    for (const member of this.#members) fastest = Math.max(fastest, member.offset);
    return fastest;
  }

  /** Resolves when a follower has read on or has left. */
  nextAdvance(): Promise<void> {
    return new Promise((resolve) => (this.#onAdvance = resolve));
  }

  /**
   * Followers have read on.
   *
   * @param member the one that has, or that leaves. Default: several may have
   */
  advanced(member?: AnyFollower): void {
    void member;
    this.#onAdvance?.();
    this.#onAdvance = undefined;
  }

  /** Resolves when all followers have left. */
  emptied(): Promise<void> {
    if (this.#members.length === 0) return Promise.resolve();
    return (this.#emptied ??= new Promise<void>((resolve) => (this.#onEmptied = resolve)));
  }

  disconnectAll(): void {
    for (const member of [...this.#members]) member.disconnect();
  }
}
