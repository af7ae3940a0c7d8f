import { type Admission, KEPT_LENGTH, type RunRecord } from '../ports/run-store.js';
import type { RunEnd, RunStatus } from '../contract/wire.js';
import { EventLog } from '../event-log/event-log.js';
import type { RetentionOptions } from './retention.js';

/** What a run costs besides its log, in characters: the record, the maps' entries. */
const OVERHEAD = 1024;

/** So long after its end a run is not taken for one that is being read any more. */
const SETTLING_MS = 10_000;

/** Ended runs that are being read may cost so much, in characters, even where less is to be kept. */
const SETTLING_LENGTH = 64 * 1024 * 1024;

/** A run in memory. */
export class Run implements RunRecord {
  readonly createdAt = Date.now();
  status: RunStatus = 'waiting';
  startedAt: number | undefined;
  endedAt: number | undefined;
  end: RunEnd | undefined;
  /** Somebody has begun to read it, and was not at its end yet. */
  isBeingRead = false;
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

  /** What it costs, in characters. */
  get length(): number {
    return this.log.length + OVERHEAD;
  }
}

/**
 * The runs of a `MemoryRunStore`, bounded.
 *
 * Where all of them are too long, first those go that have ended and that nobody is reading; then the beginnings of the
 * longest logs, but for what followers may still need of them (`KEPT_LENGTH`); and at last whatever has ended, if that alone
 * is too long. Runs that have not ended are never dropped; their number is bounded by the service's capacity.
 */
export class Runs {
  readonly #byId = new Map<string, Run>();
  readonly #byKey = new Map<string, Run>();
  /** In the order of their end. */
  readonly #ended = new Set<Run>();
  /** Those whose log may have something to trim. */
  readonly #long = new Set<Run>();
  /** What all of them cost, in characters. */
  #length = 0;
  /** What those cost that have ended. */
  #endedLength = 0;

  constructor(private readonly retention: RetentionOptions) {}

  get(owner: string, id: string): Run | undefined {
    const run = this.#byId.get(id);
    return run?.owner === owner ? run : undefined;
  }

  /** The run that was made with an idempotency key. */
  withKey(key: string): Run | undefined {
    return this.#byKey.get(key);
  }

  add(run: Run): void {
    this.#byId.set(run.id, run);
    if (run.idempotency !== undefined) this.#byKey.set(run.idempotency, run);
    this.#length += run.length;
  }

  /** Adds an envelope to the log of a run that has not ended. */
  append(run: Run, envelope: string): void {
    const hasGrown = run.log.append(envelope);
    this.#length += envelope.length;
    if (!hasGrown) return;
    this.#long.add(run);
    while (run.log.length > this.retention.logLength && this.#trim(run));
    if (this.#length > this.retention.totalLength) this.#makeRoom();
  }

  /** A run has ended. */
  end(run: Run): void {
    run.log.end();
    this.#ended.add(run);
    this.#endedLength += run.length;
  }

  /** Drops what is too old or too much. */
  sweep(): void {
    const old = Date.now() - this.retention.runMs;
    for (const run of this.#ended) {
      if (run.endedAt! > old) break;
      this.#drop(run);
    }
    if (this.#length > this.retention.totalLength) this.#makeRoom();
  }

  /** Drops the ended runs of a session. */
  erase(owner: string, sessionId: string): void {
    for (const run of this.#ended) {
      if (run.owner === owner && run.sessionId === sessionId) this.#drop(run);
    }
  }

  #makeRoom(): void {
    // Some more than must be, so that not every envelope from now on needs room made for it.
    const goal = this.retention.totalLength * (1 - 1 / 16);
    const settled = Date.now() - SETTLING_MS;
    for (const run of this.#ended) {
      if (this.#length <= goal) return;
      if (!run.isBeingRead || run.endedAt! <= settled) this.#drop(run);
    }
    this.#trimLongest(goal);
    for (const run of this.#ended) {
      if (this.#endedLength <= Math.max(goal, SETTLING_LENGTH)) return;
      this.#drop(run);
    }
  }

  /** Trims the longest logs to one length. */
  #trimLongest(goal: number): void {
    const runs = [...this.#long].sort((a, b) => b.log.length - a.log.length);
    let length = goal - this.#length;
    for (const [index, { log }] of runs.entries()) {
      length += log.length;
      const next = runs[index + 1]?.log.length ?? -Infinity;
      if (length < next * (index + 1)) continue;
      const most = length / (index + 1);
      for (const run of runs.slice(0, index + 1)) while (run.log.length > most && this.#trim(run));
      return;
    }
  }

  /** Drops the beginning of a log. Returns whether there was something to drop. */
  #trim(run: Run): boolean {
    const freed = run.log.trim(KEPT_LENGTH);
    if (freed === 0) this.#long.delete(run);
    this.#length -= freed;
    if (run.end) this.#endedLength -= freed;
    return freed > 0;
  }

  #drop(run: Run): void {
    run.isDropped = true;
    this.#byId.delete(run.id);
    this.#ended.delete(run);
    this.#long.delete(run);
    if (run.idempotency !== undefined) this.#byKey.delete(run.idempotency);
    this.#length -= run.length;
    this.#endedLength -= run.length;
  }
}
