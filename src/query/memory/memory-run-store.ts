import { doneText } from '../envelopes.js';
import { QueryError } from '../errors.js';
import {
  type Admission,
  type Admitted,
  type LogSlice,
  type RunName,
  type RunRecord,
  RunStore,
} from '../ports/run-store.js';
import { RETENTION_DEFAULTS, type RetentionOptions } from '../query.options.js';
import type { RunEnd, RunStatus, Turn } from '../wire.js';
import { EventLog } from './event-log.js';
import { MemoryFileStore } from './memory-file-store.js';
import { keyOf, Sessions } from './sessions.js';

/** What a run costs besides its log, in characters: the record, the maps' entries. */
const RUN_OVERHEAD = 1024;

/** For so long after its end a run may still have followers who read its last envelopes. */
const SETTLING_MS = 10_000;

class Run implements RunRecord {
  readonly createdAt = Date.now();
  status: RunStatus = 'waiting';
  startedAt: number | undefined;
  endedAt: number | undefined;
  end: RunEnd | undefined;
  isDropped = false;
  readonly log = new EventLog();

  constructor(
    readonly id: string,
    readonly owner: string,
    readonly sessionId: string | undefined,
    /** The query's parts, for the turn; dropped when it has been made. */
    public parts: Admission['parts'] | undefined,
    readonly idempotency: string | undefined,
    readonly digest: string | undefined,
  ) {}

  get lastSeq(): number {
    return this.log.last;
  }
}

/**
 * Runs and sessions in this process's memory, bounded: what ended longest ago goes first.
 *
 * Runs that have not ended are never dropped; their number is bounded by the service's capacity. Their logs are trimmed
 * where `retention.logLength` or, with those of all, `retention.totalLength` is passed, but for the newest 64 KiB of each.
 */
export class MemoryRunStore extends RunStore {
  readonly durable = false;
  readonly files: MemoryFileStore;
  readonly #retention: RetentionOptions;
  readonly #sessions: Sessions<Run>;
  readonly #runs = new Map<string, Run>();
  /** Ended runs in the order of their end. */
  readonly #ended = new Set<Run>();
  /** Runs whose log has something to trim. */
  readonly #long = new Set<Run>();
  readonly #keys = new Map<string, Run>();
  /** What all runs cost, in characters. */
  #length = 0;

  /** @param retention what is kept; the defaults are those of `RetentionOptions` */
  constructor(retention: Partial<RetentionOptions> = {}) {
    super();
    this.#retention = { ...RETENTION_DEFAULTS, ...retention };
    this.files = new MemoryFileStore(this.#retention.filesBytes);
    this.#sessions = new Sessions(this.#retention, (runId) => this.files.release(runId));
  }

  admit(admission: Admission): Admitted {
    this.#sweep();
    const { owner, idempotency } = admission;
    const key = idempotency && keyOf(owner, idempotency.key);
    const repeated = key === undefined ? undefined : this.#keys.get(key);
    if (repeated) return { run: repeat(repeated, idempotency!.digest), created: false, before: [] };

    const before = this.#before(admission);
    if (admission.refusal) throw admission.refusal;
    const { runId, parts, session } = admission;
    const run = new Run(runId, owner, session?.id, session && parts, key, idempotency?.digest);
    this.#runs.set(run.id, run);
    this.#length += RUN_OVERHEAD;
    if (key !== undefined) this.#keys.set(key, run);
    this.#sessions.join(run);
    return { run, created: true, before };
  }

  start(name: RunName): boolean {
    const run = this.#run(name);
    if (run?.status !== 'waiting') return false;
    run.status = 'running';
    run.startedAt = Date.now();
    return true;
  }

  append(name: RunName, envelope: string): void {
    const run = this.#run(name);
    if (run && !run.end) this.#append(run, envelope);
  }

  finish(name: RunName, end: RunEnd, text: string) {
    const run = this.#run(name);
    if (!run || run.end) return undefined;
    this.#append(run, doneText(end));
    run.log.end();
    run.end = end;
    run.status = end.status;
    run.endedAt = Date.now();
    this.#ended.add(run);
    const next = run.sessionId === undefined ? undefined : this.#sessions.leave(run, turnOf(run, end, text));
    run.parts = undefined;
    this.#sweep();
    return { run, next };
  }

  find(owner: string, runId: string): RunRecord | undefined {
    this.#sweep();
    return this.#find(owner, runId);
  }

  read(name: RunName, after: number): LogSlice {
    const run = this.#run(name);
    if (!run) throw new QueryError('not_found', 'There is no such run, or it is no longer kept.');
    return run.log.read(after);
  }

  turns(owner: string, sessionId: string, page: { after: number | undefined; limit: number }) {
    return this.#sessions.turns(owner, sessionId, page);
  }

  line(owner: string, sessionId: string): RunRecord[] {
    return [...this.#sessions.line(owner, sessionId)];
  }

  erase(owner: string, sessionId: string): boolean {
    if (this.#sessions.line(owner, sessionId).length > 0) throw busy();
    if (!this.#sessions.erase(owner, sessionId)) return false;
    for (const run of this.#ended) {
      if (run.owner === owner && run.sessionId === sessionId) this.#drop(run);
    }
    return true;
  }

  #find(owner: string, runId: string): Run | undefined {
    const run = this.#runs.get(runId);
    return run?.owner === owner ? run : undefined;
  }

  #run(name: RunName): Run | undefined {
    // Mostly it is the run itself, and need not be looked for with every envelope.
    if (name instanceof Run) return name.isDropped ? undefined : name;
    return this.#find(name.owner, name.id);
  }

  /** What stands before a new run in its session. */
  #before({ owner, session, refusalInLine }: Admission): Run[] {
    const line = session ? this.#sessions.line(owner, session.id) : [];
    if (!session || line.length === 0) return [];
    if (session.policy === 'reject') throw busy();
    if (session.policy === 'enqueue') {
      if (line.length > session.maxWaiting) throw full(session.maxWaiting);
      if (refusalInLine) throw refusalInLine;
    }
    return [...line];
  }

  #append(run: Run, envelope: string): void {
    const isLong = run.log.append(envelope);
    this.#length += envelope.length;
    if (!isLong) return;
    this.#long.add(run);
    while (run.log.length > this.#retention.logLength && this.#trim(run));
    if (this.#length > this.#retention.totalLength) this.#makeRoom();
  }

  /** Drops what is too old or too much. */
  #sweep(): void {
    const old = Date.now() - this.#retention.runMs;
    for (const run of this.#ended) {
      if (run.endedAt! > old) break;
      this.#drop(run);
    }
    if (this.#length > this.#retention.totalLength) this.#makeRoom();
    this.#sessions.sweep();
  }

  /** First go runs that nobody can be reading any more, then the beginnings of long logs, then whatever has ended. */
  #makeRoom(): void {
    // Some more than must be, so that not every envelope from now on needs room made for it.
    const goal = this.#retention.totalLength * (1 - 1 / 16);
    this.#dropEnded(goal, Date.now() - SETTLING_MS);
    this.#trimLongest(goal);
    this.#dropEnded(goal, Infinity);
  }

  #trimLongest(goal: number): void {
    while (this.#length > goal && this.#long.size > 0) {
      let most = 0;
      for (const run of this.#long) most = Math.max(most, run.log.length);
      for (const run of this.#long) {
        while (this.#length > goal && run.log.length > most / 2 && this.#trim(run));
      }
    }
  }

  #dropEnded(goal: number, before: number): void {
    for (const run of this.#ended) {
      if (this.#length <= goal || run.endedAt! > before) return;
      this.#drop(run);
    }
  }

  /** Drops the beginning of a log. Returns whether there was something to drop. */
  #trim(run: Run): boolean {
    const freed = run.log.trim();
    if (freed === 0) this.#long.delete(run);
    this.#length -= freed;
    return freed > 0;
  }

  #drop(run: Run): void {
    run.isDropped = true;
    this.#runs.delete(run.id);
    this.#ended.delete(run);
    this.#long.delete(run);
    if (run.idempotency !== undefined) this.#keys.delete(run.idempotency);
    this.#length -= run.log.length + RUN_OVERHEAD;
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
  throw new QueryError(
    'idempotency_conflict',
    'The Idempotency-Key was used with another query. Send a new key with a new query.',
  );
}

function busy(): QueryError {
  return new QueryError('session_busy', 'A query of this session has not ended. Send this one when it has.');
}

function full(limit: number): QueryError {
  return new QueryError(
    'session_full',
    `${limit} queries of this session are waiting already, as many as may. Try again when one has been answered.`,
    { retryAfter: 5 },
  );
}
