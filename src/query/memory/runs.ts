import { doneText } from '../contract/envelopes.js';
import { runBusy } from '../contract/refusals.js';
import { pageOf } from '../contract/list-page.js';
import { hasMetadata } from '../contract/metadata.js';
import { pageOfEnded } from '../ports/ended-runs.js';
import { type EndedRunsPage, KEPT_LENGTH, type RunsPage } from '../ports/run-store.js';
import type { RunEnd, TurnAnswer } from 'nest-agent-query-client';
import { KeptAnswer } from '../contract/kept-answer.js';
import type { RetentionOptions } from './retention.js';
import type { Run } from './run.js';

/** A run that is being read may be dropped when it ended so long ago. */
const SETTLING_MS = 10_000;

/** Ended runs that are being read may always cost so much, in characters, even if the limit is lower. */
const SETTLING_LENGTH = 64 * 1024 * 1024;

/**
 * The runs of a `MemoryRunStore`, within limits.
 *
 * Beyond the limit of all runs, three steps follow until enough is dropped: ended runs that are not being read; the beginnings of
 * the longest logs, except for what followers may still need (`KEPT_LENGTH`); all other ended runs. Unfinished runs are never
 * dropped. Their number is limited by the capacity of the service.
 */
export class Runs {
  readonly #byId = new Map<string, Run>();
  readonly #byKey = new Map<string, Run>();
  /** In the order of their admission. */
  readonly #byOwner = new Map<string, Set<Run>>();
  /** In the order of their end. */
  readonly #ended = new Set<Run>();
  /** Runs whose log may be trimmed. */
  readonly #long = new Set<Run>();
  #added = 0;
  /** What all runs cost, in characters. */
  #length = 0;
  /** What the ended runs cost, in characters. */
  #endedLength = 0;

  constructor(
    private readonly retention: RetentionOptions,
    private readonly onDropped: (run: Run) => void,
  ) {}

  withId(id: string): Run | undefined {
    return this.#byId.get(id);
  }

  get(owner: string, id: string): Run | undefined {
    const run = this.#byId.get(id);
    return run?.owner === owner ? run : undefined;
  }

  get logLength(): number {
    return [...this.#byId.values()].reduce((sum, { log }) => sum + log.length, 0);
  }

  page(owner: string, { sessionId, status, metadata, ...page }: RunsPage) {
    const listed = [...(this.#byOwner.get(owner) ?? [])]
      .reverse()
      .filter((run) => sessionId === undefined || run.sessionId === sessionId)
      .filter((run) => status === undefined || run.status === status)
      .filter((run) => hasMetadata(run, metadata));
    const { entries, next } = pageOf(listed, page, lengthOf);
    return { runs: entries, next };
  }

  ended(owner: string, page: EndedRunsPage) {
    return pageOfEnded([...(this.#byOwner.get(owner) ?? [])], page);
  }

  /** Returns the newest run that an idempotency key of an owner has started. */
  withKey(owner: string, key: string): Run | undefined {
    return this.#byKey.get(keyOf(owner, key));
  }

  add(run: Run): void {
    run.number = ++this.#added;
    this.#byId.set(run.id, run);
    const ofOwner = this.#byOwner.get(run.owner) ?? new Set();
    this.#byOwner.set(run.owner, ofOwner.add(run));
    if (run.idempotency) this.#byKey.set(keyOf(run.owner, run.idempotency.key), run);
    this.#length += run.length;
  }

  /** Appends an envelope to the log of an unfinished run. */
  append(run: Run, envelope: string): void {
    const hasGrown = run.log.append(envelope);
    this.#length += envelope.length;
    if (!hasGrown) return;
    this.#long.add(run);
    while (run.log.length > this.retention.logLength && this.#trim(run));
    this.#dropExcess();
  }

  end(run: Run, end: RunEnd): void {
    this.append(run, doneText(end));
    run.log.end();
    run.end = end;
    run.status = end.status;
    run.endedAt = Date.now();
    this.#ended.add(run);
    this.#endedLength += run.length;
  }

  /** What the turn of a run keeps of its answer, as far as the log has it. */
  answerOf({ log }: Run): TurnAnswer {
    const answer = new KeptAnswer();
    for (let after = log.oldest - 1; after < log.last;) {
      const { lines, first, count } = log.read(after);
      answer.addLines(lines, first, []);
      after += count;
    }
    return answer.value;
  }

  sweep(): void {
    const old = Date.now() - this.retention.runMs;
    for (const run of this.#ended) {
      if (run.endedAt! > old) break;
      this.#drop(run);
    }
    this.#dropExcess();
  }

  /** Drops a run without a session. @throws {QueryError} `session_busy`: it has not ended */
  erase(owner: string, id: string): boolean {
    const run = this.get(owner, id);
    if (!run || run.sessionId !== undefined) return false;
    if (!run.end) throw runBusy();
    this.#drop(run);
    return true;
  }

  eraseSession(owner: string, sessionId: string): void {
    for (const run of this.#ended) {
      if (run.owner === owner && run.sessionId === sessionId) this.#drop(run);
    }
  }

  #dropExcess(): void {
    const { totalLength } = this.retention;
    if (this.#length <= totalLength) return;
    // A sixteenth more than necessary is dropped, so that this is not repeated with every envelope.
    const goal = totalLength * (1 - 1 / 16);
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

  /** Trims the longest logs to a common length. */
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
    const ofOwner = this.#byOwner.get(run.owner)!;
    ofOwner.delete(run);
    if (ofOwner.size === 0) this.#byOwner.delete(run.owner);
    this.#ended.delete(run);
    this.#long.delete(run);
    const key = run.idempotency && keyOf(run.owner, run.idempotency.key);
    if (key !== undefined && this.#byKey.get(key) === run) this.#byKey.delete(key);
    this.#length -= run.length;
    this.#endedLength -= run.length;
    this.onDropped(run);
  }
}

/** One key for an owner and a name. As JSON, two different pairs never have the same key. */
export function keyOf(owner: string, name: string): string {
  return JSON.stringify([owner, name]);
}

function lengthOf({ sessionId = '', metadataLength, end }: Run): number {
  const failure = end?.status === 'failed' ? end.error.message.length : 0;
  return 256 + sessionId.length + metadataLength + failure;
}
