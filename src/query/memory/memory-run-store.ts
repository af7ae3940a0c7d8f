import { isRepeated, placeOf, refuseBehind, refuseToWait } from '../ports/admission-rules.js';
import { EXPIRED, supersedes } from '../ports/input-rules.js';
import { interrupted, runNotFound, sessionBusy } from '../contract/refusals.js';
import {
  type Admission,
  type Admitted,
  type AttemptRef,
  type Ended,
  type Fork,
  type ListPage,
  type LogSlice,
  type StoreHost,
  type RunRef,
  type RunRecord,
  RunStore,
  type EndedRunsPage,
  type RunsPage,
  type TurnsPage,
} from '../ports/run-store.js';
import type { Used } from '../ports/usage-store.js';
import type { RunEnd, TurnAnswer, TurnFile, TurnText } from 'nest-agent-query-client';
import { OPTIONS, withDefaults } from '../options/table.js';
import { MemoryDeliveryStore } from './memory-delivery-store.js';
import { MemoryFileStore } from './memory-file-store.js';
import { MemoryInputStore } from './memory-input-store.js';
import { MemoryUsageStore } from './memory-usage-store.js';
import { OwnerQueues } from './owner-queues.js';
import { MemoryUploadStore } from './memory-upload-store.js';
import { MEMORY_RETENTION_DEFAULTS, type RetentionOptions } from './retention.js';
import { Run } from './run.js';
import { Runs } from './runs.js';
import { fileOf, Sessions } from './sessions.js';

/**
 * Keeps runs and sessions in the memory of this process, within limits: what ended longest ago is dropped first.
 *
 * @example
 * QueryModule.forRoot({ handler: MyHandler, store: new MemoryRunStore({ runMs: 10 * 60_000 }) })
 */
export class MemoryRunStore extends RunStore {
  override readonly changesSessions = true;
  override readonly files: MemoryFileStore;
  override readonly inputs: MemoryInputStore;
  override readonly uploads: MemoryUploadStore;
  override readonly deliveries: MemoryDeliveryStore;
  override readonly usage = new MemoryUsageStore(() => this.#sweep());
  readonly #runs: Runs;
  readonly #sessions: Sessions;
  readonly #queues = new Map<string, OwnerQueues>();
  #limitOf: StoreHost['maxRunningPerOwner'] = () => Infinity;

  /**
   * @param retention how much is kept, and for how long. Absent and undefined members: `MEMORY_RETENTION_DEFAULTS`
   * @throws {TypeError} a member is unknown or out of its range
   */
  constructor(retention: { [K in keyof RetentionOptions]?: RetentionOptions[K] | undefined } = {}) {
    super();
    const faults: string[] = [];
    const limits = withDefaults('retention', retention, MEMORY_RETENTION_DEFAULTS, OPTIONS.retention, faults);
    if (faults.length > 0) throw new TypeError(`MemoryRunStore: ${faults.join(' ')}`);
    this.files = new MemoryFileStore(limits.filesBytes);
    this.#runs = new Runs(limits, (run) => {
      this.deliveries.forget(run);
      // The turn still needs the files.
      if (run.sessionId === undefined) this.files.release(run.id);
    });
    this.deliveries = new MemoryDeliveryStore((run) => this.#run(run));
    this.#sessions = new Sessions(
      limits,
      (runId) => this.files.release(runId),
      (owner, sessionId) => this.usage.forget(owner, sessionId),
    );
    this.uploads = new MemoryUploadStore(this.files, (...of) => this.part(...of)?.type === 'file');
    this.inputs = new MemoryInputStore({
      find: (run) => this.#run(run),
      withId: (runId) => this.#runs.withId(runId),
      append: (run, envelope) => this.#runs.append(run, envelope),
      pause: (run, ids, at) => {
        this.#queuesOf(run.module).pause(run);
        this.deliveries.add(run, 'input_required', at, ids);
      },
      wait: (run) => void this.#queuesOf(run.module).wait(run),
      expire: (run) => {
        const { lastSeq: before } = run;
        const { inputs, next } = this.#end(run, EXPIRED);
        return { run, inputs, before, isReady: next !== undefined };
      },
    });
  }

  override open(host: StoreHost): void {
    this.#limitOf = (module) => host.maxRunningPerOwner(module);
    this.deliveries.endpointsOf = (module, event) => host.endpoints(module, event);
    this.inputs.onExpired = (resolved) => host.resolved(resolved);
  }

  admit(admission: Admission): Admitted {
    this.#sweep();
    const { owner, idempotency, module = '', maxWaitingPerOwner = Infinity } = admission;
    const repeated = idempotency && this.#runs.withKey(owner, idempotency.key);
    if (repeated && isRepeated(repeated, repeated.idempotency!.digest === idempotency.digest))
      return { run: repeated, created: false, ahead: [] };

    const { session } = admission;
    const ahead = session ? [...this.#sessions.queue(owner, session.id)] : [];
    const [first] = ahead;
    const isAsking = first?.status === 'input_required';
    const replaced = session?.replaces;
    const isSuperseded = session && isAsking && (first.id === replaced || supersedes(session, holds(first)));
    if (isSuperseded) ahead.shift();
    const afterTurn = session?.afterTurn;
    if (afterTurn !== undefined) this.#sessions.refuseToReplace(owner, session!.id, afterTurn);
    if (session?.afterRun !== undefined) this.#sessions.refuseToFollow(owner, session.id, session.afterRun);
    const others = ahead.filter(({ id }) => id !== replaced);
    refuseBehind(others.length, admission, isAsking && !isSuperseded);
    const queues = this.#queuesOf(module);
    const { starts, isDeferred } = placeOf(admission, ahead.length, queues.hasFreePlace(owner));
    if (!starts) refuseToWait(admission, queues.waitingOf(owner) >= maxWaitingPerOwner, queues.waiting);
    if (session?.fork) this.#sessions.begin(owner, session.id, session.fork);
    if (replaced !== undefined) this.#sessions.replaceRun(owner, session!.id, replaced);
    const superseded = isSuperseded
      ? this.#end(first, { status: 'cancelled' }, undefined, 'superseded')
      : undefined;
    if (afterTurn !== undefined) this.#sessions.replace(owner, session!.id, afterTurn);
    const run = new Run(admission);
    this.#runs.add(run);
    this.#sessions.enqueue(run);
    queues.add(run);
    const notices = admission.notices(starts ? undefined : ahead.length, isDeferred);
    for (const notice of notices) this.#runs.append(run, notice);
    if (starts) queues.start(run, run.createdAt);
    else if (ahead.length === 0) queues.promote(owner, run);
    return { run, created: true, ahead, superseded };
  }

  take(count: number, module = ''): RunRecord[] {
    const taken: Run[] = [];
    const queues = this.#queuesOf(module);
    for (let run = queues.next; run && taken.length < count; run = queues.next) {
      queues.start(run, Date.now());
      taken.push(run);
    }
    return taken;
  }

  wish(name: RunRef, what: 'cancel' | 'detach'): boolean {
    const run = this.#run(name);
    if (what === 'cancel' || !run || run.end || run.detached) return false;
    run.detached = true;
    return true;
  }

  append(name: RunRef, envelope: string, used?: Used): void {
    const run = this.#run(name);
    if (run?.status !== 'running') return;
    this.#runs.append(run, envelope);
    if (used) this.usage.add(run, used);
  }

  async saveFile(name: AttemptRef, file: TurnFile, content: Blob): Promise<void> {
    const run = this.#run(name);
    if (!run || run.end) throw interrupted();
    await this.files.keep(run.id, file.sha256, content);
    if (!fileOf(run.files, file.sha256)) run.files.push(file);
  }

  part(owner: string, runId: string, sha256: string): TurnFile | TurnText | undefined {
    this.#sweep();
    const files = this.#runs.get(owner, runId)?.files ?? [];
    return fileOf(files, sha256) ?? this.#sessions.part(owner, runId, sha256);
  }

  override parts({ owner, id }: RunRef): Admission['parts'] {
    const run = this.#runs.get(owner, id);
    if (!run || run.end) throw runNotFound();
    return run.parts;
  }

  end(name: AttemptRef, end: RunEnd, answer: TurnAnswer) {
    const run = this.#run(name);
    if (!run || run.end || run.attempt !== name.attempt) return undefined;
    const ended = this.#end(run, end, answer);
    this.#sweep();
    return ended;
  }

  /** @param answer not of a run that has asked and does not execute: the log has it */
  #end(
    run: Run,
    end: RunEnd,
    answer?: TurnAnswer,
    outcome: 'superseded' | 'cancelled' = 'cancelled',
  ): Required<Ended> {
    const queues = this.#queuesOf(run.module);
    const isOfLog = run.inputs.length > 0 && run.status !== 'running';
    queues.leave(run);
    const inputs = this.inputs.close(run, outcome);
    const kept = isOfLog ? this.#runs.answerOf(run) : answer!;
    this.#runs.end(run, end);
    this.deliveries.add(run, end.status, run.endedAt!);
    const next = queues.promote(run.owner, this.#sessions.finish(run, kept));
    return { run, next, inputs, isReplaced: run.isReplaced };
  }

  find(owner: string, runId: string): RunRecord | undefined {
    this.#sweep();
    return this.#runs.get(owner, runId);
  }

  read(name: RunRef, after: number): LogSlice {
    const run = this.#run(name);
    if (!run) throw runNotFound();
    const slice = run.log.read(after);
    run.isBeingRead = !slice.ended;
    if (run.status === 'input_required' && slice.first + slice.count > run.lastSeq) slice.asks = true;
    return slice;
  }

  turns(owner: string, sessionId: string, page: TurnsPage) {
    this.#sweep();
    return this.#sessions.turns(owner, sessionId, page);
  }

  override turn(owner: string, sessionId: string, runId: string) {
    this.#sweep();
    return this.#sessions.turn(owner, sessionId, runId);
  }

  queue(owner: string, sessionId: string): RunRecord[] {
    return [...this.#sessions.queue(owner, sessionId)];
  }

  runs(owner: string, page: RunsPage) {
    this.#sweep();
    return this.#runs.page(owner, page);
  }

  override endedRuns(owner: string, page: EndedRunsPage) {
    this.#sweep();
    return Promise.resolve(this.#runs.ended(owner, page));
  }

  sessions(owner: string, page: ListPage) {
    this.#sweep();
    return this.#sessions.page(owner, page);
  }

  override fork(owner: string, fork: Fork) {
    this.#sweep();
    return this.#sessions.fork(owner, fork);
  }

  override close(): Promise<void> {
    return this.files.close();
  }

  override logLength(): number {
    return this.#runs.logLength;
  }

  erase(owner: string, sessionId: string): boolean {
    if (this.#sessions.queue(owner, sessionId).length > 0) throw sessionBusy();
    if (!this.#sessions.erase(owner, sessionId)) return false;
    this.#runs.eraseSession(owner, sessionId);
    return true;
  }

  override eraseRun(owner: string, runId: string): boolean {
    return this.#runs.erase(owner, runId);
  }

  #queuesOf(module: string): OwnerQueues {
    const queues = this.#queues.get(module) ?? new OwnerQueues(() => this.#limitOf(module) ?? Infinity);
    this.#queues.set(module, queues);
    return queues;
  }

  #run(name: RunRef): Run | undefined {
    // Usually it is the run itself, so that no envelope needs a look-up.
    if (name instanceof Run) return name.isDropped ? undefined : name;
    return this.#runs.get(name.owner, name.id);
  }

  #sweep(): void {
    this.#runs.sweep();
    this.#sessions.sweep();
    this.uploads.sweep();
    this.usage.sweep();
  }
}

/** Whether a run asks for something that a newer query does not take the place of. */
function holds({ inputs }: Run): boolean {
  return inputs.some(({ resolved, request }) => !resolved && request.hold);
}
