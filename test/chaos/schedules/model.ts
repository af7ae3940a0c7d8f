import { RUN_MS, SESSION_MS, type Settings } from './settings.js';

/** How a run ended: its status, and for a failed run the code. */
export type End = 'completed' | 'cancelled' | 'handler_failed' | 'invalid_envelope' | 'interrupted';

/** A query as a client sends it. */
export interface Submission {
  owner: string;
  session: string | undefined;
  text: string;
  key: string | undefined;
  /** Whether the handler ignores its signal. */
  isDeaf: boolean;
  hasFile: boolean;
}

/** A run as the interface describes it. */
export interface ModelRun extends Submission {
  id: string;
  status: 'waiting' | 'running' | 'ended';
  end: End | undefined;
  /** The handler executes, also after the end of its run. */
  isExecuting: boolean;
  /** Since when the run needs only a slot to start; equal numbers where that is not known. Undefined before that. */
  readySince: number | undefined;
  /** It continues without followers. */
  isDetached: boolean;
  /** The process of the host has admitted or started it. */
  isKnownToHost: boolean;
  /** The texts of the messages that are known to be in the log, in their order. */
  emitted: string[];
  /** From here on it is not known whether the messages are in the log; undefined where all of them are. */
  unsureFrom: number | undefined;
  /** The JSON texts of the envelopes that clients have seen, each at its number minus one. */
  seen: string[];
  endedAt: number | undefined;
}

interface ModelSession {
  owner: string;
  id: string;
  queue: ModelRun[];
  turns: ModelRun[];
  usedAt: number;
}

/** What the interface answers to a query. */
export type Prediction = { status: 200; known?: ModelRun } | { status: 409 | 422 | 429 | 503; code: string };

/** What the interface promises about runs, sessions and keys. It knows nothing of stores and of time, except for retention. */
export class Model {
  readonly runs = new Map<string, ModelRun>();
  /** Overdue handlers whose run is no longer kept. */
  readonly stray = new Set<ModelRun>();
  readonly #sessions = new Map<string, ModelSession>();
  readonly #keys = new Map<string, ModelRun>();
  /** Names of sessions that were used, with their owners. */
  readonly usedSessions = new Map<string, { owner: string; id: string }>();
  /** How much time has passed for the retention, in milliseconds. */
  #clock = 0;
  #ready = 0;

  /** @param isDurable whether what the store keeps outlives the process of the host */
  constructor(
    readonly settings: Settings,
    readonly isDurable: boolean,
  ) {}

  get clock(): number {
    return this.#clock;
  }

  get sessions(): Iterable<ModelSession> {
    return this.#sessions.values();
  }

  get unfinished(): ModelRun[] {
    return [...this.runs.values()].filter(({ status }) => status !== 'ended');
  }

  get running(): number {
    return this.unfinished.filter(({ status }) => status === 'running').length;
  }

  get waiting(): number {
    return this.unfinished.length - this.running;
  }

  /** The runs that have ended while their handler still executes. */
  get overdue(): ModelRun[] {
    const kept = [...this.runs.values()].filter(
      ({ status, isExecuting }) => status === 'ended' && isExecuting,
    );
    return [...kept, ...this.stray];
  }

  get takenSlots(): number {
    return this.running + this.overdue.length;
  }

  session(owner: string, id: string): ModelSession | undefined {
    return this.#sessions.get(keyOf(owner, id));
  }

  predict(submission: Submission): Prediction {
    const { owner, session, key } = submission;
    const known = key === undefined ? undefined : this.#keys.get(keyOf(owner, key));
    if (known && !isSameQuery(known, submission)) return { status: 422, code: 'idempotency_conflict' };
    if (known && known.end !== 'interrupted') return { status: 200, known };
    const { sessionPolicy, maxWaitingPerSession, maxRunning, maxWaiting } = this.settings;
    const ahead = session === undefined ? 0 : (this.session(owner, session)?.queue.length ?? 0);
    if (ahead > 0 && sessionPolicy === 'reject') return { status: 409, code: 'session_busy' };
    if (sessionPolicy === 'enqueue' && ahead > maxWaitingPerSession)
      return { status: 429, code: 'session_full' };
    const starts = ahead === 0 && this.takenSlots < maxRunning;
    return starts || this.waiting < maxWaiting ? { status: 200 } : { status: 503, code: 'at_capacity' };
  }

  /** Adds a run that was admitted. */
  admit(id: string, submission: Submission, isDetached: boolean): ModelRun {
    const run = this.add(id, submission, isDetached);
    if (run.session === undefined) {
      this.#makeReady(run);
      return run;
    }
    const { queue } = this.session(run.owner, run.session)!;
    const ahead = queue.slice(0, -1);
    if (ahead.length === 0) this.#makeReady(run);
    else if (this.settings.sessionPolicy === 'interrupt') {
      this.cancelAll(ahead);
    }
    return run;
  }

  /** Adds a run of which only the admission is known. */
  add(id: string, submission: Submission, isDetached: boolean): ModelRun {
    const run: ModelRun = {
      ...submission,
      id,
      isDetached,
      isKnownToHost: true,
      status: 'waiting',
      end: undefined,
      isExecuting: false,
      readySince: undefined,
      emitted: [],
      unsureFrom: undefined,
      seen: [],
      endedAt: undefined,
    };
    this.runs.set(id, run);
    if (run.key !== undefined) this.#keys.set(keyOf(run.owner, run.key), run);
    if (run.session !== undefined) this.#use(run.owner, run.session).queue.push(run);
    return run;
  }

  /** The runs of which one starts next; none if no slot is free. */
  nextToStart(): ModelRun[] {
    if (this.takenSlots >= this.settings.maxRunning) return [];
    const ready = this.unfinished.filter((run) => run.status === 'waiting' && run.readySince !== undefined);
    const first = Math.min(...ready.map(({ readySince }) => readySince!));
    return ready.filter(({ readySince }) => readySince === first);
  }

  start(run: ModelRun): void {
    run.status = 'running';
    run.isKnownToHost = true;
    run.isExecuting = true;
  }

  /** The handler of a run has stopped. */
  stopHandler(run: ModelRun): void {
    run.isExecuting = false;
    this.stray.delete(run);
  }

  /** Ends a run. A handler that ignores its signal continues to execute, unless it has stopped before. */
  end(run: ModelRun, end: End): void {
    run.status = 'ended';
    run.end = end;
    run.endedAt = this.#clock;
    if (!run.isDeaf) run.isExecuting = false;
    if (run.session === undefined) return;
    const session = this.#use(run.owner, run.session);
    const wasFirst = session.queue[0] === run;
    session.queue = session.queue.filter((other) => other !== run);
    session.turns.push(run);
    if (wasFirst && session.queue[0]) this.#makeReady(session.queue[0]);
  }

  /** Cancels runs of a session: the first one last, so that no other is promoted before it is cancelled. */
  cancelAll([first, ...waiting]: ModelRun[]): void {
    for (const run of waiting) this.end(run, 'cancelled');
    if (first) this.end(first, 'cancelled');
  }

  /** Marks the first run of each queue as ready, where it is not known since when. */
  makeReadyTogether(): void {
    const since = ++this.#ready;
    for (const run of this.unfinished) {
      if (run.status !== 'waiting') continue;
      const queue = run.session === undefined ? [run] : this.session(run.owner, run.session)!.queue;
      run.readySince = queue[0] === run ? since : undefined;
    }
  }

  /** Erases a session whose runs have all ended. */
  erase(owner: string, id: string): void {
    const session = this.session(owner, id);
    this.#sessions.delete(keyOf(owner, id));
    for (const run of session?.turns ?? []) this.forget(run);
    for (const run of session?.queue ?? []) this.forget(run);
    for (const run of this.runs.values()) if (run.owner === owner && run.session === id) this.forget(run);
  }

  /** Sets the turns and the queue of a session as they were observed; without turns, the session does not exist. */
  setSession(owner: string, id: string, turns: string[] | undefined, queue: string[]): void {
    const key = keyOf(owner, id);
    if (turns === undefined) return void this.#sessions.delete(key);
    const session = this.#use(owner, id);
    const known = new Map([...session.turns, ...this.runs.values()].map((run) => [run.id, run]));
    session.turns = turns.map((runId) => known.get(runId)!);
    session.queue = queue.map((runId) => known.get(runId)!);
  }

  /** Forgets the sessions that have none of these runs: the store was in the memory of a process that has ended. */
  forgetSessions(runs: ReadonlySet<ModelRun>): void {
    this.stray.clear();
    for (const [key, session] of this.#sessions) {
      session.turns = [];
      session.queue = session.queue.filter((run) => runs.has(run));
      if (session.queue.length === 0) this.#sessions.delete(key);
    }
  }

  /** Lets time pass: what is too old is no longer kept. */
  passTime(milliseconds: number): void {
    this.#clock += milliseconds;
    for (const run of this.runs.values()) {
      if (run.endedAt !== undefined && run.endedAt <= this.#clock - RUN_MS) this.forget(run);
    }
    for (const [key, { queue, usedAt }] of this.#sessions) {
      if (queue.length === 0 && usedAt <= this.#clock - SESSION_MS) this.#sessions.delete(key);
    }
  }

  #makeReady(run: ModelRun): void {
    run.readySince = ++this.#ready;
  }

  /** Forgets a run that is no longer kept. */
  forget(run: ModelRun): void {
    run.status = 'ended';
    this.runs.delete(run.id);
    if (run.isExecuting && run.isDeaf) this.stray.add(run);
    else run.isExecuting = false;
    const key = run.key === undefined ? undefined : keyOf(run.owner, run.key);
    if (key !== undefined && this.#keys.get(key) === run) this.#keys.delete(key);
  }

  #use(owner: string, id: string): ModelSession {
    const key = keyOf(owner, id);
    const session = this.#sessions.get(key) ?? { owner, id, queue: [], turns: [], usedAt: 0 };
    session.usedAt = this.#clock;
    this.#sessions.set(key, session);
    this.usedSessions.set(key, { owner, id });
    return session;
  }
}

function keyOf(owner: string, name: string): string {
  return JSON.stringify([owner, name]);
}

function isSameQuery(run: ModelRun, other: Submission): boolean {
  return (
    run.text === other.text &&
    run.session === other.session &&
    run.isDeaf === other.isDeaf &&
    run.hasFile === other.hasFile
  );
}
