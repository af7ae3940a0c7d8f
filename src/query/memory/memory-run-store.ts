import { doneText } from '../contract/envelopes.js';
import { idempotencyConflict, runNotFound, sessionBusy, sessionFull } from '../contract/refusals.js';
import {
  type Admission,
  type Admitted,
  type LogSlice,
  type RunRef,
  type RunRecord,
  RunStore,
} from '../ports/run-store.js';
import type { RunEnd, Turn } from '../contract/wire.js';
import { MemoryFileStore } from './memory-file-store.js';
import { MEMORY_RETENTION_DEFAULTS, type RetentionOptions } from './retention.js';
import { Run, Runs } from './runs.js';
import { keyOf, Sessions } from './sessions.js';

/**
 * Runs and sessions in this process's memory, bounded: what ended longest ago goes first.
 */
export class MemoryRunStore extends RunStore {
  readonly durable = false;
  readonly files: MemoryFileStore;
  readonly #runs: Runs;
  readonly #sessions: Sessions<Run>;

  /** @param retention what is kept; the defaults are those of `RetentionOptions` */
  constructor(retention: Partial<RetentionOptions> = {}) {
    super();
    const limits = { ...MEMORY_RETENTION_DEFAULTS, ...retention };
    this.files = new MemoryFileStore(limits.filesBytes);
    this.#runs = new Runs(limits);
    this.#sessions = new Sessions(limits, (runId) => this.files.release(runId));
  }

  admit(admission: Admission): Admitted {
    this.#sweep();
    const { owner, idempotency } = admission;
    const key = idempotency && keyOf(owner, idempotency.key);
    const repeated = key === undefined ? undefined : this.#runs.withKey(key);
    if (repeated) return { run: repeat(repeated, idempotency!.digest), created: false, ahead: [] };

    const before = this.#before(admission);
    if (admission.refusal) throw admission.refusal;
    const { runId, parts, session } = admission;
    const run = new Run(runId, owner, session?.id, session && parts, key, idempotency?.digest);
    this.#runs.add(run);
    this.#sessions.join(run);
    return { run, created: true, ahead: before };
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
    const next = run.sessionId === undefined ? undefined : this.#sessions.leave(run, turnOf(run, end, text));
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

  turns(owner: string, sessionId: string, page: { after: number | undefined; limit: number }) {
    return this.#sessions.turns(owner, sessionId, page);
  }

  queue(owner: string, sessionId: string): RunRecord[] {
    return [...this.#sessions.line(owner, sessionId)];
  }

  erase(owner: string, sessionId: string): boolean {
    if (this.#sessions.line(owner, sessionId).length > 0) throw sessionBusy();
    if (!this.#sessions.erase(owner, sessionId)) return false;
    this.#runs.erase(owner, sessionId);
    return true;
  }

  #run(name: RunRef): Run | undefined {
    // Mostly it is the run itself, and need not be looked for with every envelope.
    if (name instanceof Run) return name.isDropped ? undefined : name;
    return this.#runs.get(name.owner, name.id);
  }

  /** What stands before a new run in its session. */
  #before({ owner, session, refusalIfQueued: refusalIfQueued }: Admission): Run[] {
    const line = session ? this.#sessions.line(owner, session.id) : [];
    if (!session || line.length === 0) return [];
    if (session.policy === 'reject') throw sessionBusy();
    if (session.policy === 'enqueue') {
      if (line.length > session.maxWaiting) throw sessionFull(session.maxWaiting);
      if (refusalIfQueued) throw refusalIfQueued;
    }
    return [...line];
  }

  /** Drops what is too old or too much. */
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

function repeat(run: Run, digest: string): Run {
  if (run.digest === digest) return run;
  throw idempotencyConflict();
}
