import type { FollowerChanged } from '../ports/run-listener.js';
import type { RunRecord } from '../ports/run-store.js';
import type { Signals } from '../ports/other-processes.js';
import { type AnyFollower, Followers } from './followers.js';

/** How often a process says which runs it follows, and looks at their logs in case that a signal was lost. */
const ROUND_MS = 5_000;

/** A process that has not repeated `follow` for so many rounds has no followers of the run any more. */
const MISSED_ROUNDS = 3;

/** The process that executes a run is told that its followers have read on after so many characters of JSON. */
const REPORTED_LENGTH = 16 * 1024;

/** What a run does when its followers come and go. */
export interface FollowersListener {
  followed(): void;
  unfollowed(): void;
}

type RunOfSession = Pick<RunRecord, 'owner' | 'sessionId'>;

/** The followers of a run that are in another process, together. News for them is a signal. */
class RemoteFollowers implements AnyFollower {
  missedRounds = 0;

  constructor(
    private readonly signals: Signals,
    private readonly runId: string,
    public offset: number,
  ) {}

  notify(): void {
    this.signals.send({ type: 'news', runId: this.runId });
  }

  disconnect(): void {}
}

/**
 * The followers of one run, in this process and, if this process executes the run, in others.
 *
 * The process that executes the run is the one that has news. It sends a signal to each process that follows the run. That
 * process answers with how far its fastest follower has read, so that the handler is held back for the followers of all
 * processes.
 */
export class RunFollowers extends Followers {
  readonly #remote = new Map<string, RemoteFollowers>();
  #listener: FollowersListener | undefined;
  #run: RunOfSession | undefined;
  #isLive = false;
  #hasEnded = false;
  #reportedOffset = 0;

  constructor(
    readonly runId: string,
    private readonly groups: FollowerGroups,
    private readonly signals: Signals,
  ) {
    super();
  }

  /** How many followers the run has in this process. */
  get localSize(): number {
    return this.size - this.#remote.size;
  }

  /** Whether the news of the run comes from another process. */
  get isElsewhere(): boolean {
    return !this.#isLive && !this.#hasEnded && this.localSize > 0;
  }

  /** Whether the run has been in this process, and belongs to this session. */
  isOf(owner: string, sessionId: string): boolean {
    return this.#run?.owner === owner && this.#run.sessionId === sessionId;
  }

  get isUnused(): boolean {
    return this.size === 0 && this.#listener === undefined;
  }

  /** The run is in this process from now on, and wants to know when its followers come and go. */
  attach(listener: FollowersListener, run: RunOfSession): void {
    this.#listener = listener;
    this.#run = run;
  }

  /**
   * This process executes the run.
   *
   * @param isAwaited whether there may be followers in other processes that this one has not heard of
   */
  goLive(isAwaited: boolean): void {
    this.#isLive = true;
    if (!this.signals.isShared) return;
    if (isAwaited) this.followedBy('unknown', 0);
    this.signals.send({ type: 'started', runId: this.runId });
  }

  /**
   * The run is not in this process any more.
   *
   * @param hasEnded whether the log has its end; if not, news comes from another process from now on
   */
  detach(hasEnded: boolean): void {
    this.#listener = undefined;
    this.#isLive = false;
    this.#hasEnded = hasEnded;
    for (const [process, remote] of this.#remote) {
      remote.notify();
      this.leftBy(process);
    }
    if (this.isUnused) this.groups.remove(this);
    else this.report();
  }

  followedBy(process: string, offset: number): void {
    if (!this.#listener) return;
    let remote = this.#remote.get(process);
    if (remote) {
      remote.offset = offset;
      remote.missedRounds = 0;
      return this.advanced();
    }
    remote = new RemoteFollowers(this.signals, this.runId, offset);
    this.#remote.set(process, remote);
    this.join(remote);
    if (process === 'unknown') return;
    this.leftBy('unknown');
    // What was appended before this process heard of the followers.
    if (this.#isLive) remote.notify();
  }

  leftBy(process: string): void {
    const remote = this.#remote.get(process);
    if (!remote) return;
    this.#remote.delete(process);
    this.leave(remote);
  }

  /** Forgets the followers of processes that have not been heard of for long. */
  checkRemote(): void {
    for (const [process, remote] of this.#remote)
      if (++remote.missedRounds > MISSED_ROUNDS) this.leftBy(process);
  }

  /** Tells the process that executes the run about the followers here. */
  report(): void {
    if (!this.isElsewhere || !this.signals.isShared) return;
    this.#reportedOffset = this.offset;
    this.signals.send({ type: 'follow', runId: this.runId, offset: this.offset });
  }

  /** The log has its end: no news will come. Whoever follows already may not have been told. */
  end(): void {
    this.#hasEnded = true;
    this.notify();
  }

  override join(member: AnyFollower): void {
    super.join(member);
    if (member instanceof RemoteFollowers) return;
    this.groups.onChange('followed', { runId: this.runId, followers: this.localSize });
    if (this.localSize === 1) this.report();
  }

  override leave(member: AnyFollower): void {
    const wasElsewhere = this.isElsewhere;
    const before = this.size;
    super.leave(member);
    if (this.size === before) return;
    if (!(member instanceof RemoteFollowers))
      this.groups.onChange('unfollowed', { runId: this.runId, followers: this.localSize });
    if (this.signals.isShared && wasElsewhere && !this.isElsewhere)
      this.signals.send({ type: 'leave', runId: this.runId });
  }

  override advanced(member?: AnyFollower): void {
    super.advanced();
    if (this.#isLive || !this.signals.isShared) return;
    // The fastest of thousands of followers is not looked for with each slice that one of them reads.
    const { offset } = member ?? this;
    if (offset - this.#reportedOffset >= REPORTED_LENGTH) this.report();
  }

  protected override onFirst(): void {
    this.#listener?.followed();
  }

  protected override onEmpty(): void {
    this.#listener?.unfollowed();
    if (this.isUnused) this.groups.remove(this);
  }
}

/** The followers of all runs that somebody follows, or that this process has. */
export class FollowerGroups {
  readonly #groups = new Map<string, RunFollowers>();
  #timer: NodeJS.Timeout | undefined;

  /** @param onChange called when a follower in this process has come or gone */
  constructor(
    private readonly signals: Signals,
    readonly onChange: (event: 'followed' | 'unfollowed', change: FollowerChanged) => void = () => undefined,
  ) {}

  /** How many callers of this process follow runs. */
  get size(): number {
    let size = 0;
    for (const group of this.#groups.values()) size += group.localSize;
    return size;
  }

  of(runId: string): RunFollowers {
    let group = this.#groups.get(runId);
    if (!group) {
      group = new RunFollowers(runId, this, this.signals);
      this.#groups.set(runId, group);
      if (this.signals.isShared) this.#timer ??= setInterval(() => this.#round(), ROUND_MS).unref();
    }
    return group;
  }

  /** The followers of a run, if there are any or this process has the run. */
  get(runId: string): RunFollowers | undefined {
    return this.#groups.get(runId);
  }

  /** Resolves when the followers of the runs of a session have left, which they do at the end of the log. */
  async emptied(owner: string, sessionId: string): Promise<void> {
    const groups = [...this.#groups.values()].filter((group) => group.isOf(owner, sessionId));
    await Promise.all(groups.map((group) => group.emptied()));
  }

  remove(group: RunFollowers): void {
    this.#groups.delete(group.runId);
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
    for (const group of [...this.#groups.values()]) if (group.isElsewhere) group.disconnectAll();
  }

  #round(): void {
    for (const group of [...this.#groups.values()]) group.checkRemote();
    this.catchUp();
  }
}
