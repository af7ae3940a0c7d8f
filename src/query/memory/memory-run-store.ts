import { doneText, isInterrupted } from '../contract/envelopes.js';
import { idempotencyConflict, runNotFound, sessionBusy, sessionFull } from '../contract/refusals.js';
import {
  type Admission,
  type Admitted,
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
    const { owner, idempotency } = admission;
    const key = idempotency && keyOf(owner, idempotency.key);
    const repeated = key === undefined ? undefined : this.#runs.withKey(key);
    if (repeated && repeated.digest !== idempotency!.digest) throw idempotencyConflict();
    // The caller of an interrupted run was asked to send its query again.
    if (repeated && !isInterrupted(repeated.end)) return { run: repeated, created: false, ahead: [] };

    const ahead = this.#ahead(admission);
    if (admission.refusal) throw admission.refusal;
    const { runId, parts, session } = admission;
    const run = new Run(runId, owner, session?.id, session && parts, key, idempotency?.digest);
    if (repeated) this.#runs.forgetKey(repeated);
    this.#runs.add(run);
    this.#sessions.enqueue(run);
    return { run, created: true, ahead };
  }

  start(name: RunRef): boolean {
    const run = this.#run(name);
    if (run?.status !== 'waiting') return false;
    run.status = 'running';
    run.startedAt = Date.now();
    return true;
  }

  append(name: RunRef, envelope: string): void {
    const run = this.#run(name);
    if (run && !run.end) this.#runs.append(run, envelope);
  }

  finish(name: RunRef, end: RunEnd, text: string) {
    const run = this.#run(name);
    if (!run || run.end) return undefined;
    this.#runs.append(run, doneText(end));
    run.end = end;
    run.status = end.status;
    run.endedAt = Date.now();
    this.#runs.end(run);
    const next = run.sessionId === undefined ? undefined : this.#sessions.finish(run, turnOf(run, end, text));
    run.parts = undefined;
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

  #run(name: RunRef): Run | undefined {
    // Usually it is the run itself, so that no envelope needs a look-up.
    if (name instanceof Run) return name.isDropped ? undefined : name;
    return this.#runs.get(name.owner, name.id);
  }

  /** Returns the runs ahead of a new run. */
  #ahead({ owner, session, refusalIfQueued }: Admission): Run[] {
    const queue = session ? this.#sessions.queue(owner, session.id) : [];
    if (!session || queue.length === 0) return [];
    if (session.policy === 'reject') throw sessionBusy();
    if (session.policy === 'enqueue') {
      if (queue.length > session.maxWaiting) throw sessionFull(session.maxWaiting);
      if (refusalIfQueued) throw refusalIfQueued;
    }
    return [...queue];
  }

  /** Drops what is too old or exceeds the limits. */
  #sweep(): void {
    this.#runs.sweep();
    this.#sessions.sweep();
  }
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
