import type { Awaitable } from '../ports/file-store.js';
import type { FollowerChanged } from '../ports/run-listener.js';
import type { LogSlice, RunRecord, RunStore } from '../ports/run-store.js';
import { RemoteFollowers } from './remote-followers.js';
import { UntoldNews } from './untold-news.js';

/** The most groups that wait for the end of the tick: after more, the processor's caches would not hold the data of the first. */
const MAX_PENDING = 64;

/** The process that executes a run is told that its followers have read on after so many characters of JSON. */
const REPORTED_LENGTH = 16 * 1024;

/** What a run does when its followers come and go. */
export interface FollowersListener {
  followed(): void;
  unfollowed(): void;
}

interface Member {
  /** How far it has read, in characters of JSON since the beginning of the log. */
  readonly offset: number;
  notify(): void;
  offer(slice: LogSlice): void;
  disconnect(): void;
}

/** What holds the followers of all runs: `FollowerGroups`. */
interface Groups {
  readonly store: Pick<RunStore, 'signals' | 'read' | 'find'> & Partial<Pick<RunStore, 'wish'>>;
  readonly onChange: (event: 'followed' | 'unfollowed', change: FollowerChanged) => void;
  /** How many callers of this process follow runs. */
  size: number;
  remove(group: Followers): void;
}

/** Groups whose log has news in this tick of the event loop. */
let pending: Followers[] = [];

function flushAll(): void {
  const groups = pending;
  pending = [];
  for (const group of groups) group.flush();
}

/**
 * The followers of one run, in this process and, if this process has the run, in others.
 *
 * Everything that is appended in one tick of the event loop leaves in one write. For this, `notify` only marks the group,
 * and one `setImmediate` flushes all marked groups.
 *
 * The process that executes the run is the one that has news. It sends a signal to the processes that follow the run, with the
 * news if that is short. Each answers with how far its fastest follower has read, so that the handler is held back for the
 * followers of all processes.
 */
export class Followers {
  readonly #local = new Set<Member>();
  /** Those of other processes. Most runs have none. */
  #remote: RemoteFollowers | undefined;
  #listener: FollowersListener | undefined;
  #isLive = false;
  #hasEnded = false;
  #isPending = false;
  #reportedOffset = 0;
  readonly #untold: UntoldNews;
  #isKept = false;
  #onAdvance: (() => void) | undefined;
  #emptied: Promise<void> | undefined;
  #onEmptied: (() => void) | undefined;

  constructor(
    public run: Pick<RunRecord, 'id' | 'owner' | 'sessionId'>,
    private readonly groups: Groups,
  ) {
    this.#untold = new UntoldNews(run, groups.store);
  }

  get size(): number {
    return this.#local.size + this.#remoteSize;
  }

  /** Whether the news of the run comes from another process. */
  get isElsewhere(): boolean {
    return !this.#isLive && !this.#hasEnded && this.#local.size > 0;
  }

  /** The run is in this process from now on. */
  attach(listener: FollowersListener): void {
    this.#listener = listener;
  }

  /**
   * This process executes the run.
   *
   * @param run its record, by which the store finds its log at once
   * @param isKnown whether other processes can know the run already
   * @param isAwaited whether there may be followers in them that this one has not heard of
   */
  goLive(run: Followers['run'], isKnown: boolean, isAwaited: boolean): void {
    this.run = run;
    this.#isLive = true;
    if (!isKnown || !this.#signals.isShared) return;
    // Followers that may not exist hold nothing back.
    if (isAwaited) this.followedBy('unknown', Infinity);
    this.#untold.skip();
    this.#tellOthers('started', this.#untold.take());
  }

  /** The run asks: what is added to its log may come from any process. */
  goElsewhere(): void {
    this.#isLive = false;
    this.report();
  }

  /**
   * The run is not in this process any more.
   *
   * @param hasEnded whether the log has its end; if not, news comes from another process from now on
   */
  detach(hasEnded: boolean): void {
    this.#listener = undefined;
    if (this.#remoteSize > 0 || this.#tellsAll)
      this.#tellOthers('news', hasEnded ? this.#untold.take() : undefined);
    this.#isLive = false;
    this.#hasEnded = hasEnded;
    this.#remote = undefined;
    this.#left();
    this.report();
  }

  /** The log has its end: no news will come. Whoever follows already may not have been told. */
  end(): void {
    this.#hasEnded = true;
    this.notify();
  }

  /** A follower has read the end of the log. */
  reachedEnd(): void {
    // The process that executed the run need not be told that they leave.
    if (this.isElsewhere) this.end();
  }

  /** Returns the envelopes after a number. */
  read(after: number): Awaitable<LogSlice> {
    return this.groups.store.read(this.run, after);
  }

  join(follower: Member): void {
    this.#local.add(follower);
    this.groups.size++;
    this.#joined();
    this.#tell('followed');
    if (this.#local.size === 1) this.report();
  }

  leave(follower: Member): void {
    const wasElsewhere = this.isElsewhere;
    if (!this.#local.delete(follower)) return;
    this.groups.size--;
    this.#left(follower);
    this.#tell('unfollowed');
    if (wasElsewhere && !this.isElsewhere) this.#signals.send({ type: 'leave', runId: this.run.id });
  }

  /** Another process has followers of the run. */
  followedBy(process: string, offset: number): void {
    if (!this.#listener) return;
    const areOthersTold = this.#remoteSize > 0;
    const isNew = (this.#remote ??= new RemoteFollowers()).add(process, offset);
    if (!isNew) return this.advanced();
    this.#joined();
    if (process === 'unknown') return;
    this.leftBy('unknown');
    // What was appended before this process heard of the followers.
    if (!this.#isLive || areOthersTold) return;
    this.#untold.skip();
    this.#tellOthers('news');
  }

  leftBy(process: string): void {
    if (this.#remote?.remove(process)) this.#left();
  }

  /** Forgets the followers of processes that have not been heard of for long. */
  checkRemote(): void {
    for (const process of this.#remote?.missing() ?? []) this.leftBy(process);
  }

  /** Tells the process that executes the run about the followers here. */
  report(): void {
    if (!this.isElsewhere) return;
    this.#reportedOffset = this.offset;
    this.#signals.send({ type: 'follow', runId: this.run.id, offset: this.#reportedOffset });
    if (this.#signals.trouble !== undefined && !this.#listener) this.#keep();
  }

  /** The process that executes the run may not hear of the followers here, and must not stop it because it knows of none. */
  #keep(): void {
    if (this.#isKept) return;
    this.#isKept = true;
    Promise.resolve(this.groups.store.wish?.(this.run, 'detach')).catch(() => (this.#isKept = false));
  }

  notify(): void {
    if (this.#isPending || (this.size === 0 && !this.#tellsAll)) return;
    if (pending.length === MAX_PENDING) flushAll();
    this.#isPending = true;
    if (pending.push(this) === 1) setImmediate(flushAll);
  }

  /** Another process says what is new. */
  offer(slice: LogSlice): void {
    for (const follower of this.#local) follower.offer(slice);
    this.advanced();
  }

  flush(): void {
    this.#isPending = false;
    if (this.#remoteSize > 0 || this.#tellsAll)
      this.#tellOthers('news', this.#isLive ? this.#untold.take() : undefined);
    for (const follower of this.#local) follower.notify();
    this.advanced();
  }

  /** How far the fastest follower is behind, in characters of JSON; 0 without followers. */
  lag(endOffset: number): number {
    return this.size === 0 ? 0 : endOffset - this.offset;
  }

  /** How far the fastest follower has read, in characters of JSON; 0 without followers. */
  get offset(): number {
    let fastest = this.#remote?.offset ?? 0;
    for (const { offset } of this.#local) fastest = Math.max(fastest, offset);
    return fastest;
  }

  /** Resolves when a follower has read on or has left. */
  nextAdvance(): Promise<void> {
    return new Promise((resolve) => (this.#onAdvance = resolve));
  }

  /** A follower has read on, or leaves. Default: several may have read on. */
  advanced(follower?: Member): void {
    this.#onAdvance?.();
    this.#onAdvance = undefined;
    if (this.#isLive || !this.#signals.isShared) return;
    // The fastest of thousands of followers is not looked for with each slice that one of them reads.
    const { offset } = follower ?? this;
    if (offset - this.#reportedOffset >= REPORTED_LENGTH) this.report();
  }

  /** Resolves when all followers have left. */
  emptied(): Promise<void> {
    if (this.size === 0) return Promise.resolve();
    return (this.#emptied ??= new Promise<void>((resolve) => (this.#onEmptied = resolve)));
  }

  disconnectAll(): void {
    for (const follower of this.#local) follower.disconnect();
  }

  /** Whether others may follow that this process does not hear of. */
  get #tellsAll(): boolean {
    return this.#isLive && this.#signals.trouble !== undefined;
  }

  get #remoteSize(): number {
    return this.#remote?.size ?? 0;
  }

  #joined(): void {
    if (this.size === 1) this.#listener?.followed();
  }

  #left(follower?: Member): void {
    this.advanced(follower);
    if (this.size > 0) return;
    this.#onEmptied?.();
    this.#emptied = this.#onEmptied = undefined;
    this.#listener?.unfollowed();
    if (!this.#listener) this.groups.remove(this);
  }

  #tell(event: 'followed' | 'unfollowed'): void {
    this.groups.onChange(event, { runId: this.run.id, followers: this.#local.size });
  }

  get #signals() {
    return this.groups.store.signals;
  }

  #tellOthers(type: 'news' | 'started', slice?: LogSlice): void {
    this.#signals.send({ type, runId: this.run.id, ...(slice && { slice }) });
  }
}
