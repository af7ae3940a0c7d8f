import { doneText, isInterrupted } from '../contract/envelopes.js';
import {
  atCapacity,
  idempotencyConflict,
  runNotFound,
  sessionBusy,
  sessionFull,
} from '../contract/refusals.js';
import {
  type Admission,
  type Admitted,
  type AttemptRef,
  type LogSlice,
  type RunRef,
  type RunRecord,
  RunStore,
  type TurnsPage,
} from '../ports/run-store.js';
import type { RunEnd, Turn } from '../contract/wire.js';
import { RANGES, withDefaults } from '../options/ranges.js';
import { MemoryFileStore } from './memory-file-store.js';
import { MEMORY_RETENTION_DEFAULTS, type RetentionOptions } from './retention.js';
import { Run, Runs } from './runs.js';
import { keyOf, Sessions } from './sessions.js';

/**
 * Keeps runs and sessions in the memory of this process, within limits: what ended longest ago is dropped first.
 *
 * @example
 * QueryModule.forRoot({ handler: MyHandler, store: new MemoryRunStore({ runMs: 10 * 60_000 }) })
 */
export class MemoryRunStore extends RunStore {
  readonly durable = false;
  readonly files: MemoryFileStore;
  readonly #runs: Runs;
  readonly #sessions: Sessions<Run>;
  readonly #waiting = new Map<string, WaitingRuns>();

  /**
   * @param retention how much is kept, and for how long. Absent and undefined members: `MEMORY_RETENTION_DEFAULTS`
   * @throws {TypeError} a member is unknown or out of its range
   */
  constructor(retention: { [K in keyof RetentionOptions]?: RetentionOptions[K] | undefined } = {}) {
    super();
    const faults: string[] = [];
    const limits = withDefaults('retention', retention, MEMORY_RETENTION_DEFAULTS, RANGES.retention, faults);
    if (faults.length > 0) throw new TypeError(`MemoryRunStore: ${faults.join(' ')}`);
    this.files = new MemoryFileStore(limits.filesBytes);
    this.#runs = new Runs(limits);
    this.#sessions = new Sessions(limits, (runId) => this.files.release(runId));
  }

  admit(admission: Admission): Admitted {
    this.#sweep();
    const { owner, idempotency, module = '' } = admission;
    const key = idempotency && keyOf(owner, idempotency.key);
    const repeated = key === undefined ? undefined : this.#runs.withKey(key);
    if (repeated && repeated.digest !== idempotency!.digest) throw idempotencyConflict();
    // The caller of an interrupted run was asked to send its query again.
    if (repeated && !isInterrupted(repeated.end)) return { run: repeated, created: false, ahead: [] };

    const ahead = this.#ahead(admission);
    if (admission.refusal) throw admission.refusal;
    const starts = admission.mayStart && ahead.length === 0;
    const waiting = this.#waitingOf(module);
    if (!starts && waiting.count >= admission.maxWaiting) throw atCapacity(waiting.count);
    const { runId, parts, session, detached, trace } = admission;
    const digest = idempotency?.digest;
    const run = new Run(runId, owner, session?.id, session && parts, key, digest, detached, module, trace);
    if (repeated) this.#runs.forgetKey(repeated);
    this.#runs.add(run);
    this.#sessions.enqueue(run);
    waiting.count++;
    for (const notice of admission.notices(starts ? undefined : ahead.length)) this.#runs.append(run, notice);
    if (starts) this.#start(run, run.createdAt);
    else if (ahead.length === 0) waiting.ready.add(run);
    return { run, created: true, ahead };
  }

  take(count: number, module = ''): RunRecord[] {
    const taken: Run[] = [];
    for (const run of this.#waitingOf(module).ready) {
      if (taken.length === count) break;
      this.#start(run, Date.now());
      taken.push(run);
    }
    return taken;
  }

  /** @throws Error always: no other process has runs, so that every process that takes one has its query */
  query(): never {
    throw new Error('A MemoryRunStore keeps no queries.');
  }

  detach(name: RunRef): boolean {
    const run = this.#run(name);
    if (!run || run.end || run.detached) return false;
    run.detached = true;
    return true;
  }

  /** Does nothing: no attempt of a run follows. */
  checkpoint(run: AttemptRef, state: string): void {
    void [run, state];
  }

  /** Does nothing: no attempt of a run follows. */
  handOver(run: AttemptRef): boolean {
    void run;
    return false;
  }

  append(name: RunRef, envelope: string): void {
    const run = this.#run(name);
    if (run?.status === 'running') this.#runs.append(run, envelope);
  }

  finish(name: AttemptRef, end: RunEnd, text: string) {
    const run = this.#run(name);
    if (!run || run.end || run.attempt !== name.attempt) return undefined;
    if (run.status === 'waiting') this.#leaveQueue(run);
    this.#runs.append(run, doneText(end));
    run.end = end;
    run.status = end.status;
    run.endedAt = Date.now();
    this.#runs.end(run);
    const next = run.sessionId === undefined ? undefined : this.#sessions.finish(run, turnOf(run, end, text));
    run.parts = undefined;
    if (next) this.#waitingOf(next.module).ready.add(next);
    this.#sweep();
    return { run, next };
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
    return slice;
  }

  turns(owner: string, sessionId: string, page: TurnsPage) {
    return this.#sessions.turns(owner, sessionId, page);
  }

  text(owner: string, runId: string, sha256: string): string | undefined {
    return this.#sessions.text(owner, runId, sha256);
  }

  queue(owner: string, sessionId: string): RunRecord[] {
    return [...this.#sessions.queue(owner, sessionId)];
  }

  erase(owner: string, sessionId: string): boolean {
    if (this.#sessions.queue(owner, sessionId).length > 0) throw sessionBusy();
    if (!this.#sessions.erase(owner, sessionId)) return false;
    this.#runs.erase(owner, sessionId);
    return true;
  }

  #start(run: Run, startedAt: number): void {
    this.#leaveQueue(run);
    run.status = 'running';
    run.startedAt = startedAt;
  }

  /** The run does not wait any more. */
  #leaveQueue(run: Run): void {
    const waiting = this.#waitingOf(run.module);
    waiting.ready.delete(run);
    waiting.count--;
  }

  #waitingOf(module: string): WaitingRuns {
    const waiting = this.#waiting.get(module) ?? new WaitingRuns();
    this.#waiting.set(module, waiting);
    return waiting;
  }

  #run(name: RunRef): Run | undefined {
    // Usually it is the run itself, so that no envelope needs a look-up.
    if (name instanceof Run) return name.isDropped ? undefined : name;
    return this.#runs.get(name.owner, name.id);
  }

  /** Returns the runs ahead of a new run. */
  #ahead({ owner, session }: Admission): Run[] {
    const queue = session ? this.#sessions.queue(owner, session.id) : [];
    if (!session || queue.length === 0) return [];
    if (session.policy === 'reject') throw sessionBusy();
    if (session.policy === 'enqueue' && queue.length > session.maxWaiting)
      throw sessionFull(session.maxWaiting);
    return [...queue];
  }

  /** Drops what is too old or exceeds the limits. */
  #sweep(): void {
    this.#runs.sweep();
    this.#sessions.sweep();
  }
}

/** The runs of a module that wait. */
class WaitingRuns {
  /** Those that wait for a slot, first those that are ready for longest. */
  readonly ready = new Set<Run>();
  /** How many wait, for a slot or in the queue of their session. */
  count = 0;
}

function turnOf(run: Run, end: RunEnd, text: string): Turn {
  return {
    runId: run.id,
    parts: run.parts ?? [],
    text,
    end,
    createdAt: new Date(run.createdAt).toISOString(),
    endedAt: new Date(run.endedAt!).toISOString(),
  };
}
