import type { RunEnd, TurnAnswer, TurnFile } from 'nest-agent-query-client';
import { type Awaitable, type FileStore, isThenable } from '../ports/file-store.js';
import type { StoreOperation } from '../ports/run-listener.js';
import {
  type Admission,
  type AttemptRef,
  type RecoveryEvents,
  type RunRef,
  type ListPage,
  RunStore,
  type RunsPage,
  type TurnsPage,
} from '../ports/run-store.js';
import type { Signals } from '../ports/signals.js';
import type { Observers } from './observers.js';

/**
 * A store whose answers are timed for listeners. It is in use only where somebody listens, so that it costs nothing elsewhere.
 *
 * There is an append per envelope and a read per follower and tick. Those that the store answers from memory are not timed.
 */
export class ObservedStore extends RunStore {
  readonly durable: boolean;
  readonly files: FileStore;
  override readonly signals: Signals;
  /** The commits that are timed already. Envelopes that are committed together share one. */
  readonly #commits = new WeakSet<Promise<void>>();

  constructor(
    private readonly store: RunStore,
    private readonly observers: Observers,
  ) {
    super();
    this.durable = store.durable;
    this.files = store.files;
    this.signals = store.signals;
  }

  override recover(events: RecoveryEvents): Awaitable<void> {
    return this.store.recover(events);
  }

  override check(): Awaitable<void> {
    return this.store.check();
  }

  override logLength(): Awaitable<number | undefined> {
    return this.store.logLength();
  }

  override close(): Awaitable<void> {
    return this.store.close();
  }

  override reserveUploads(owner: string, bytes: number, maxBytes: number): Awaitable<boolean> {
    return this.store.reserveUploads(owner, bytes, maxBytes);
  }

  admit(admission: Admission) {
    return this.#timed('admit', () => this.store.admit(admission));
  }

  take(count: number, module?: string) {
    return this.#timed('take', () => this.store.take(count, module));
  }

  query(run: RunRef) {
    return this.#timed('query', () => this.store.query(run));
  }

  append(run: RunRef, envelope: string): void | Promise<void> {
    const since = performance.now();
    const commit = this.store.append(run, envelope);
    if (!commit || this.#commits.has(commit)) return commit;
    this.#commits.add(commit);
    this.#tellWhenSettled('append', since, commit);
    return commit;
  }

  addFile(run: AttemptRef, file: TurnFile, content: Blob): Awaitable<void> {
    return this.#timed('addFile', () => this.store.addFile(run, file, content));
  }

  file(owner: string, runId: string, sha256: string) {
    return this.#timed('file', () => this.store.file(owner, runId, sha256));
  }

  detach(run: RunRef): Awaitable<boolean> {
    return this.store.detach(run);
  }

  override cancel(run: RunRef): Awaitable<void> {
    return this.store.cancel(run);
  }

  override isDetached(run: RunRef): Awaitable<boolean> {
    return this.store.isDetached(run);
  }

  checkpoint(run: AttemptRef, state: string): Awaitable<void> {
    return this.#timed('checkpoint', () => this.store.checkpoint(run, state));
  }

  handOver(run: AttemptRef): Awaitable<boolean> {
    return this.store.handOver(run);
  }

  finish(run: AttemptRef, end: RunEnd, answer: TurnAnswer) {
    return this.#timed('finish', () => this.store.finish(run, end, answer));
  }

  find(owner: string, runId: string) {
    return this.#timed('find', () => this.store.find(owner, runId));
  }

  read(run: RunRef, after: number) {
    const since = performance.now();
    const slice = this.store.read(run, after);
    if (isThenable(slice)) this.#tellWhenSettled('read', since, slice);
    return slice;
  }

  turns(owner: string, sessionId: string, page: TurnsPage) {
    return this.#timed('turns', () => this.store.turns(owner, sessionId, page));
  }

  text(owner: string, runId: string, sha256: string) {
    return this.#timed('text', () => this.store.text(owner, runId, sha256));
  }

  queue(owner: string, sessionId: string) {
    return this.#timed('queue', () => this.store.queue(owner, sessionId));
  }

  runs(owner: string, page: RunsPage) {
    return this.#timed('runs', () => this.store.runs(owner, page));
  }

  sessions(owner: string, page: ListPage) {
    return this.#timed('sessions', () => this.store.sessions(owner, page));
  }

  erase(owner: string, sessionId: string): Awaitable<boolean> {
    return this.#timed('erase', () => this.store.erase(owner, sessionId));
  }

  #timed<T>(operation: StoreOperation, call: () => Awaitable<T>): Awaitable<T> {
    const since = performance.now();
    let answer: Awaitable<T> | undefined;
    try {
      answer = call();
      return answer;
    } finally {
      if (isThenable(answer)) this.#tellWhenSettled(operation, since, answer);
      else this.#tell(operation, since);
    }
  }

  #tellWhenSettled(operation: StoreOperation, since: number, answer: PromiseLike<unknown>): void {
    const tell = () => this.#tell(operation, since);
    answer.then(tell, tell);
  }

  #tell(operation: StoreOperation, since: number): void {
    this.observers.tell('storeAnswered', { operation, durationMs: performance.now() - since });
  }
}
