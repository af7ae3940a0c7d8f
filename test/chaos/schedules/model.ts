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
  /** The number of the turn after which the turns are replaced. */
  afterTurn?: number | undefined;
}

/** A run as the interface describes it. */
export interface ModelRun extends Submission {
  id: string;
  status: 'waiting' | 'running' | 'ended';
  end: End | undefined;
  /** The handler executes, also after the end of its run. */
  isExecuting: boolean;
  /** Since when the run is the first of its session; equal numbers where that is not known. Undefined before that. */
  readySince: number | undefined;
  /**
   * The round of slots in which the run is to start; `deferred` if its owner is at the limit, and `unknown` where either may
   * be so. Undefined unless the run is the first of its session and waits.
   */
  round: number | 'deferred' | 'unknown' | undefined;
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
export type Prediction =
  { status: 200; known?: ModelRun } | { status: 400 | 409 | 422 | 429 | 503; code: string };

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
  #readySince = 0;

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
    const { sessionPolicy, maxWaitingPerSession, maxRunning, maxWaiting, maxWaitingPerOwner } = this.settings;
    const ahead = session === undefined ? 0 : (this.session(owner, session)?.queue.length ?? 0);
    const { afterTurn } = submission;
    if (afterTurn !== undefined && ahead > 0) return { status: 409, code: 'session_busy' };
    const turns = session === undefined ? 0 : (this.session(owner, session)?.turns.length ?? 0);
    if (afterTurn !== undefined && afterTurn > turns) return { status: 400, code: 'invalid_query' };
    if (ahead > 0 && sessionPolicy === 'reject') return { status: 409, code: 'session_busy' };
    if (sessionPolicy === 'enqueue' && ahead > maxWaitingPerSession)
      return { status: 429, code: 'session_full' };
    const starts = ahead === 0 && this.takenSlots < maxRunning && this.#hasFreePlace(owner);
    const ofOwner = this.unfinished.filter((run) => run.owner === owner && run.status === 'waiting');
    if (!starts && ofOwner.length >= (maxWaitingPerOwner ?? Infinity))
      return { status: 429, code: 'rate_limited' };
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
      round: undefined,
      emitted: [],
      unsureFrom: undefined,
      seen: [],
      endedAt: undefined,
    };
    this.runs.set(id, run);
    if (run.key !== undefined) this.#keys.set(keyOf(run.owner, run.key), run);
    if (run.session === undefined) return run;
    const session = this.#use(run.owner, run.session);
    if (run.afterTurn !== undefined) session.turns = session.turns.slice(0, run.afterTurn);
    session.queue.push(run);
    return run;
  }

  /** The runs of which one starts next; none if no slot is free. */
  nextToStart(): ModelRun[] {
    if (this.takenSlots >= this.settings.maxRunning) return [];
    const unknown = this.#inRound('unknown');
    if (unknown.length > 0) {
      const owners = new Set(unknown.map(({ owner }) => owner));
      return [...owners].flatMap((owner) =>
        this.#activeOf(owner) < this.#limit
          ? firstBy(
              unknown.filter((run) => run.owner === owner),
              ({ readySince }) => readySince!,
            )
          : [],
      );
    }
    const present = firstBy(this.#ready, ({ round }) => round as number);
    return firstBy(present, ({ readySince }) => readySince!);
  }

  start(run: ModelRun): void {
    run.status = 'running';
    run.round = undefined;
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
    run.round = undefined;
    run.end = end;
    run.endedAt = this.#clock;
    if (!run.isDeaf) run.isExecuting = false;
    if (run.session !== undefined) this.#leaveSession(run, run.session);
    this.#balance(run.owner);
  }

  #leaveSession(run: ModelRun, id: string): void {
    const session = this.#use(run.owner, id);
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
    const since = ++this.#readySince;
    for (const run of this.unfinished) {
      if (run.status !== 'waiting') continue;
      const queue = run.session === undefined ? [run] : this.session(run.owner, run.session)!.queue;
      run.readySince = queue[0] === run ? since : undefined;
      run.round = queue[0] === run ? 'unknown' : undefined;
    }
  }

  /** Erases a session whose runs have all ended. */
  erase(owner: string, id: string): void {
    const session = this.session(owner, id);
    this.#sessions.delete(keyOf(owner, id));
    for (const run of session?.queue ?? []) this.forget(run);
    for (const run of this.runs.values()) if (run.owner === owner && run.session === id) this.forget(run);
  }

  /** Makes a session of the first turns of another one. */
  fork(owner: string, id: string, afterTurn: number, newId: string): void {
    this.#use(owner, newId).turns = this.session(owner, id)!.turns.slice(0, afterTurn);
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
    run.readySince = ++this.#readySince;
    if (this.#inRound('unknown').length > 0) run.round = 'unknown';
    else run.round = this.#hasFreePlace(run.owner) ? this.#nextRound(run.owner) : 'deferred';
  }

  /** Makes deferred runs of an owner ready, as far as its limit allows. */
  #balance(owner: string): void {
    const deferred = this.#inRound('deferred').filter((run) => run.owner === owner);
    for (const run of deferred.sort((a, b) => a.readySince! - b.readySince!)) {
      if (this.#activeOf(owner) < this.#limit) run.round = this.#nextRound(owner);
    }
  }

  #nextRound(owner: string): number {
    const rounds = (runs: ModelRun[]) => runs.map(({ round }) => round as number);
    if (this.#ready.length === 0) return 0;
    const own = rounds(this.#ready.filter((run) => run.owner === owner));
    return Math.max(Math.min(...rounds(this.#ready)), Math.max(-1, ...own) + 1);
  }

  get #limit(): number {
    return this.settings.maxRunningPerOwner ?? Infinity;
  }

  /** The runs that need only a slot to start. */
  get #ready(): ModelRun[] {
    return this.unfinished.filter(({ round }) => typeof round === 'number');
  }

  #inRound(round: 'deferred' | 'unknown'): ModelRun[] {
    return this.unfinished.filter((run) => run.round === round);
  }

  #activeOf(owner: string): number {
    const running = this.unfinished.filter(({ status }) => status === 'running');
    return [...running, ...this.#ready].filter((run) => run.owner === owner).length;
  }

  #hasFreePlace(owner: string): boolean {
    const waits = [...this.#inRound('deferred'), ...this.#inRound('unknown')];
    return this.#activeOf(owner) < this.#limit && waits.every((run) => run.owner !== owner);
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

/** The runs with the smallest number. */
function firstBy(runs: ModelRun[], numberOf: (run: ModelRun) => number): ModelRun[] {
  const first = Math.min(...runs.map(numberOf));
  return runs.filter((run) => numberOf(run) === first);
}

function keyOf(owner: string, name: string): string {
  return JSON.stringify([owner, name]);
}

function isSameQuery(run: ModelRun, other: Submission): boolean {
  return (
    run.text === other.text &&
    run.session === other.session &&
    run.isDeaf === other.isDeaf &&
    run.hasFile === other.hasFile &&
    run.afterTurn === other.afterTurn
  );
}
