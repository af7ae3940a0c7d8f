import { doneText } from '../envelopes.js';
import { QueryError } from '../errors.js';
import {
  type Admission,
  type Admitted,
  type LogSlice,
  type RunRecord,
  RunStore,
} from '../ports/run-store.js';
import { RETENTION_DEFAULTS, type RetentionOptions } from '../query.options.js';
import type { RunEnd, RunStatus, Turn } from '../wire.js';
import { EventLog } from './event-log.js';

/** What a run costs besides its log, in characters: the record, the maps' entries. */
const RUN_OVERHEAD = 1024;

class Run implements RunRecord {
  readonly createdAt = Date.now();
  status: RunStatus = 'waiting';
  startedAt: number | undefined;
  endedAt: number | undefined;
  end: RunEnd | undefined;
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

interface Session {
  /** Turns in the order of admission; their lengths are counted in `length`. */
  turns: Turn[];
  /** Runs that have not ended, in line: the first executes. */
  line: Run[];
  length: number;
  usedAt: number;
}

/**
 * Runs and sessions in this process's memory, bounded: what ended longest ago goes first.
 *
 * Runs that have not ended are never dropped; their number is bounded by the service's capacity, and the log of each by
 * `retention.logLength`.
 */
export class MemoryRunStore extends RunStore {
  readonly durable = false;
  readonly #retention: RetentionOptions;
  readonly #runs = new Map<string, Run>();
  /** Ended runs in the order of their end. */
  readonly #ended = new Set<Run>();
  readonly #keys = new Map<string, Run>();
  /** In the order of their last use. */
  readonly #sessions = new Map<string, Session>();
  #endedLength = 0;
  #sessionsLength = 0;

  /** @param retention what is kept of what has ended; the defaults are those of `RetentionOptions` */
  constructor(retention: Partial<RetentionOptions> = {}) {
    super();
    this.#retention = { ...RETENTION_DEFAULTS, ...retention };
  }

  admit(admission: Admission): Admitted {
    this.#sweep();
    const { owner, idempotency } = admission;
    const key = idempotency && keyOf(owner, idempotency.key);
    const repeated = key === undefined ? undefined : this.#keys.get(key);
    if (repeated) return { run: repeat(repeated, idempotency!.digest), created: false, before: [] };

    const before = this.#enter(admission);
    if (admission.refusal) throw admission.refusal;
    const { runId, parts, session } = admission;
    const run = new Run(runId, owner, session?.id, session && parts, key, idempotency?.digest);
    this.#runs.set(run.id, run);
    if (key !== undefined) this.#keys.set(key, run);
    if (session) this.#session(owner, session.id).line.push(run);
    return { run, created: true, before };
  }

  start(owner: string, runId: string): boolean {
    const run = this.#run(owner, runId);
    if (run?.status !== 'waiting') return false;
    run.status = 'running';
    run.startedAt = Date.now();
    return true;
  }

  append(owner: string, runId: string, envelope: string): void {
    const run = this.#run(owner, runId);
    if (!run || run.end) return;
    run.log.append(envelope);
    while (run.log.length > this.#retention.logLength && run.log.trim());
  }

  finish(owner: string, runId: string, end: RunEnd, text: string) {
    const run = this.#run(owner, runId);
    if (!run || run.end) return undefined;
    run.log.append(doneText(end));
    run.log.end();
    run.end = end;
    run.status = end.status;
    run.endedAt = Date.now();
    const next = run.sessionId === undefined ? undefined : this.#leaveLine(run, run.sessionId, text);
    this.#ended.add(run);
    this.#endedLength += run.log.length + RUN_OVERHEAD;
    this.#sweep();
    return { run, next };
  }

  find(owner: string, runId: string): RunRecord | undefined {
    return this.#run(owner, runId);
  }

  read(owner: string, runId: string, after: number): LogSlice {
    const run = this.#run(owner, runId);
    if (!run) throw new QueryError('not_found', 'There is no such run, or it is no longer kept.');
    return run.log.read(after);
  }

  turns(owner: string, sessionId: string, { after, limit }: { after: number | undefined; limit: number }) {
    const session = this.#sessions.get(keyOf(owner, sessionId));
    if (!session) return undefined;
    const total = session.turns.length;
    const start = after ?? Math.max(0, total - limit);
    const turns = session.turns.slice(start, start + limit);
    return { turns, last: start + turns.length, total };
  }

  line(owner: string, sessionId: string): RunRecord[] {
    return this.#sessions.get(keyOf(owner, sessionId))?.line.slice() ?? [];
  }

  erase(owner: string, sessionId: string): boolean {
    const session = this.#sessions.get(keyOf(owner, sessionId));
    if (!session) return false;
    if (session.line.length > 0) throw busy();
    this.#dropSession(keyOf(owner, sessionId), session);
    for (const run of this.#ended) {
      if (run.owner === owner && run.sessionId === sessionId) this.#drop(run);
    }
    return true;
  }

  #run(owner: string, runId: string): Run | undefined {
    const run = this.#runs.get(runId);
    return run?.owner === owner ? run : undefined;
  }

  /** The session's line as a new run finds it. */
  #enter({ owner, session }: Admission): Run[] {
    const line = session && this.#sessions.get(keyOf(owner, session.id))?.line;
    if (!line || line.length === 0) return [];
    if (session.policy === 'reject') throw busy();
    if (session.policy === 'enqueue' && line.length > session.maxWaiting) throw full(session.maxWaiting);
    return line.slice();
  }

  #session(owner: string, sessionId: string): Session {
    const key = keyOf(owner, sessionId);
    const session = this.#sessions.get(key) ?? { turns: [], line: [], length: 0, usedAt: 0 };
    session.usedAt = Date.now();
    this.#sessions.delete(key);
    this.#sessions.set(key, session);
    return session;
  }

  #leaveLine(run: Run, sessionId: string, text: string): Run | undefined {
    const session = this.#session(run.owner, sessionId);
    const wasFirst = session.line[0] === run;
    session.line.splice(session.line.indexOf(run), 1);
    const turn: Turn = {
      runId: run.id,
      parts: run.parts ?? [],
      text,
      end: run.end!,
      createdAt: new Date(run.createdAt).toISOString(),
      endedAt: new Date(run.endedAt!).toISOString(),
    };
    run.parts = undefined;
    session.turns.push(turn);
    const length = JSON.stringify(turn).length;
    session.length += length;
    this.#sessionsLength += length;
    return wasFirst ? session.line[0] : undefined;
  }

  /** Drops what is too old or too much. What is looked at stands in order, so that this stops at the first that stays. */
  #sweep(): void {
    const now = Date.now();
    for (const run of this.#ended) {
      if (now - run.endedAt! < this.#retention.runMs && this.#endedLength <= this.#retention.totalLength)
        break;
      this.#drop(run);
    }
    for (const [key, session] of this.#sessions) {
      const isOld = now - session.usedAt >= this.#retention.sessionMs;
      if (!isOld && this.#sessionsLength <= this.#retention.sessionsLength) break;
      if (session.line.length === 0) this.#dropSession(key, session);
    }
  }

  #drop(run: Run): void {
    this.#runs.delete(run.id);
    this.#ended.delete(run);
    if (run.idempotency !== undefined) this.#keys.delete(run.idempotency);
    this.#endedLength -= run.log.length + RUN_OVERHEAD;
  }

  #dropSession(key: string, session: Session): void {
    this.#sessions.delete(key);
    this.#sessionsLength -= session.length;
  }
}

function keyOf(owner: string, name: string): string {
  return JSON.stringify([owner, name]);
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
