import type { RunEnd, TurnAnswer, TurnFile } from 'nest-agent-query-client';
import { type Awaitable, type FileStore, isThenable } from '../ports/file-store.js';
import {
  type Admission,
  type Admitted,
  type AttemptRef,
  type ListPage,
  type RecoveryEvents,
  type RunRecord,
  type RunRef,
  RunStore,
  type RunsPage,
  type TurnsPage,
} from '../ports/run-store.js';
import type { Signal, SignalReceiver, Signals } from '../ports/signals.js';
import { ownerOfModule, storedOwner } from './owners.js';

/** Where a run of a module has the run of the store. */
const STORED = Symbol('stored');

/** What a module does not do with the store alone. */
interface Sharing {
  recover(events: RecoveryEvents): Promise<void>;
  listen(receiver: SignalReceiver): Promise<void>;
  close(): Promise<void>;
}

/**
 * A store as one module sees it. The owners of a named module have its name before them in the store, so that runs, sessions and
 * idempotency keys of two modules never meet. Files are found by their runs.
 */
export class ModuleStore extends RunStore {
  readonly durable: boolean;
  readonly files: FileStore;
  override readonly signals: Signals;

  /** @param name the name of the module; empty for the module without a name */
  constructor(
    private readonly store: RunStore,
    private readonly name: string,
    private readonly sharing: Sharing,
  ) {
    super();
    this.durable = store.durable;
    this.files = store.files;
    this.signals = {
      isShared: store.signals.isShared,
      send: (signal: Signal) => store.signals.send(signal),
      listen: (receiver) => sharing.listen(receiver),
    };
  }

  override recover(events: RecoveryEvents): Promise<void> {
    return this.sharing.recover({
      ...events,
      recovered: (runId, ended) => events.recovered(runId, ended && own(ended)),
    });
  }

  override check(): Awaitable<void> {
    return this.store.check();
  }

  override logLength(): Awaitable<number | undefined> {
    return this.store.logLength();
  }

  override close(): Promise<void> {
    return this.sharing.close();
  }

  override reserveUploads(owner: string, bytes: number, maxBytes: number): Awaitable<boolean> {
    return this.store.reserveUploads(this.#stored(owner), bytes, maxBytes);
  }

  admit(admission: Admission): Awaitable<Admitted> {
    const admitted = this.store.admit({
      ...admission,
      module: this.name,
      owner: this.#stored(admission.owner),
    });
    return whenKnown(admitted, ({ run, created, ahead }) => ({
      run: own(run),
      created,
      ahead: ahead.map(own),
    }));
  }

  take(count: number): Awaitable<RunRecord[]> {
    return whenKnown(this.store.take(count, this.name), (runs) => runs.map(own));
  }

  query(run: RunRef) {
    return this.store.query(this.#ref(run));
  }

  append(run: RunRef, envelope: string): void | Promise<void> {
    return this.store.append(this.#ref(run), envelope);
  }

  addFile(run: AttemptRef, file: TurnFile, content: Blob): Awaitable<void> {
    return this.store.addFile(this.#ref(run), file, content);
  }

  file(owner: string, runId: string, sha256: string): Awaitable<TurnFile | undefined> {
    return this.store.file(this.#stored(owner), runId, sha256);
  }

  detach(run: RunRef): Awaitable<boolean> {
    return this.store.detach(this.#ref(run));
  }

  override cancel(run: RunRef): Awaitable<void> {
    return this.store.cancel(this.#ref(run));
  }

  override isDetached(run: RunRef): Awaitable<boolean> {
    return this.store.isDetached(this.#ref(run));
  }

  checkpoint(run: AttemptRef, state: string): Awaitable<void> {
    return this.store.checkpoint(this.#ref(run), state);
  }

  handOver(run: AttemptRef): Awaitable<boolean> {
    return this.store.handOver(this.#ref(run));
  }

  finish(run: AttemptRef, end: RunEnd, answer: TurnAnswer) {
    return whenKnown(
      this.store.finish(this.#ref(run), end, answer),
      (finished) => finished && { run: own(finished.run), next: finished.next && own(finished.next) },
    );
  }

  find(owner: string, runId: string): Awaitable<RunRecord | undefined> {
    return whenKnown(this.store.find(this.#stored(owner), runId), (run) => run && own(run));
  }

  read(run: RunRef, after: number) {
    return this.store.read(this.#ref(run), after);
  }

  turns(owner: string, sessionId: string, page: TurnsPage) {
    return this.store.turns(this.#stored(owner), sessionId, page);
  }

  text(owner: string, runId: string, sha256: string): Awaitable<string | undefined> {
    return this.store.text(this.#stored(owner), runId, sha256);
  }

  queue(owner: string, sessionId: string): Awaitable<RunRecord[]> {
    return whenKnown(this.store.queue(this.#stored(owner), sessionId), (runs) => runs.map(own));
  }

  runs(owner: string, page: RunsPage) {
    return whenKnown(this.store.runs(this.#stored(owner), page), ({ runs, next }) => ({
      runs: runs.map(own),
      next,
    }));
  }

  sessions(owner: string, page: ListPage) {
    return this.store.sessions(this.#stored(owner), page);
  }

  erase(owner: string, sessionId: string): Awaitable<boolean> {
    return this.store.erase(this.#stored(owner), sessionId);
  }

  #stored(owner: string): string {
    return storedOwner(this.name, owner);
  }

  /** Called for each envelope: a run that the store has returned is passed back as it is. */
  #ref<R extends RunRef>(run: R): R {
    const { [STORED]: stored } = run as R & { [STORED]?: R };
    if (stored) return stored;
    const owner = this.#stored(run.owner);
    return owner === run.owner ? run : { ...run, owner };
  }
}

/** A run as its module sees it: with the owner that the module knows. The rest is inherited, because it changes. */
function own(run: RunRecord): RunRecord {
  const { owner } = ownerOfModule(run.owner);
  if (owner === run.owner) return run;
  return Object.create(run, { owner: { value: owner }, [STORED]: { value: run } }) as RunRecord;
}

/** Applies a function at once if the store has answered, so that no microtask is added. */
function whenKnown<T, R>(value: Awaitable<T>, change: (value: T) => R): Awaitable<R> {
  return isThenable(value) ? Promise.resolve(value).then(change) : change(value);
}
