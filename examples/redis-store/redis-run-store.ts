import type { Redis } from 'ioredis';
import {
  type Admission,
  type Admitted,
  type AttemptRef,
  type Ended,
  type Kept,
  type ListPage,
  type LogSlice,
  MEMORY_RETENTION_DEFAULTS,
  type RecoveryEvents,
  type RetentionOptions,
  type RunEnd,
  type RunRecord,
  type RunRef,
  RunStore,
  type RunsPage,
  type StoredQuery,
  type TurnAnswer,
  type TurnFile,
  type TurnsPage,
  type TurnText,
} from 'nest-agent-query';
import {
  doneText,
  INTERRUPTED,
  interrupted,
  isRepeated,
  KeptAnswer,
  placeOf,
  refuseBehind,
  refuseToWait,
  restartedText,
  runNotFound,
  sessionBusy,
  shownTurn,
  titleOf,
} from 'nest-agent-query/store-rules';
import { entriesOf, runsPage, sessionsPage, turnsPage } from './redis-lists.js';
import { RedisSteps, type Write } from './redis-steps.js';
import {
  appended,
  entryOf,
  keyOf,
  NEW_RUN,
  readRun,
  type StoredRun,
  type StoredTurn,
  type StoredSession,
  writeRun,
} from './stored-run.js';

const SWEEP_MS = 60_000;

/** Envelopes that are written together. */
interface Group {
  texts: string[];
  written: Promise<void>;
}

export interface RedisRunStoreOptions {
  /** How long runs and sessions are kept. Members that are absent have their default. */
  retention?: Partial<Pick<RetentionOptions, 'runMs' | 'sessionMs'>>;
  /** How long a process may be silent before another one may take its data, in milliseconds. Default 10,000. */
  lockMs?: number;
}

/**
 * Keeps runs in Redis, for one process. Redis has everything. This process has a copy of the runs that have not ended, so it
 * decides without asking. A change takes effect here when Redis has it.
 */
export class RedisRunStore extends RunStore {
  override readonly durable = true;
  readonly #steps: RedisSteps;
  readonly #retention: Pick<RetentionOptions, 'runMs' | 'sessionMs'>;
  /** The runs that have not ended, in the order of their admission. */
  readonly #unfinished = new Map<string, StoredRun>();
  readonly #groups = new Map<string, Group>();
  #events: RecoveryEvents | undefined;
  #sweepTimer: NodeJS.Timeout | undefined;
  /** Numbers what needs an order: admissions, uses of sessions, and runs that become ready. */
  #number = 0;

  constructor(
    private readonly redis: Redis,
    { retention, lockMs = 10_000 }: RedisRunStoreOptions = {},
  ) {
    super();
    this.#steps = new RedisSteps(redis, lockMs, () => this.#lose());
    this.#retention = { ...MEMORY_RETENTION_DEFAULTS, ...retention };
  }

  override async open(events: RecoveryEvents): Promise<void> {
    this.#events = events;
    await this.#steps.open();
    this.#number = Number((await this.redis.get('number')) ?? 0);
    const stored = await this.#load(await this.redis.smembers('unfinished'));
    const runs = await Promise.all(stored.map((run) => this.#withEndOfLog(run)));
    for (const run of runs.sort((a, b) => a.number - b.number)) this.#unfinished.set(run.id, run);
    for (const run of runs.filter(({ status }) => status === 'running')) await this.#recover(run, events);
    this.#sweepTimer = setInterval(() => void this.sweep().catch(() => undefined), SWEEP_MS);
    this.#sweepTimer.unref();
    if (runs.length > 0) events.ready();
  }

  override async close(): Promise<void> {
    clearInterval(this.#sweepTimer);
    await this.#steps.close();
  }

  /** Ends as a crash would. For tests. */
  crash(): void {
    clearInterval(this.#sweepTimer);
    this.#steps.crash();
  }

  override check(): Promise<void> {
    return this.#steps.check();
  }

  admit(admission: Admission): Promise<Admitted> {
    return this.#steps.nextNow(() => this.#admit(admission));
  }

  take(count: number, module = ''): Promise<RunRecord[]> {
    return this.#steps.nextNow(async () => {
      const ready = [...this.#unfinished.values()].filter(
        (run) => run.status === 'waiting' && run.ready > 0 && run.module === module,
      );
      const runs = ready.sort((a, b) => a.ready - b.ready).slice(0, count);
      const started = runs.map((run): StoredRun => ({
        ...run,
        status: 'running',
        startedAt: run.startedAt ?? Date.now(),
      }));
      await this.#steps.persist(started.map(writeRun));
      for (const run of started) this.#unfinished.set(run.id, run);
      return started;
    });
  }

  append({ owner, id }: RunRef, envelope: string): void | Promise<void> {
    const run = this.#unfinished.get(id);
    if (run?.owner !== owner || run.status !== 'running') return;
    const open = this.#groups.get(id);
    if (open) {
      open.texts.push(envelope);
      return open.written;
    }
    const texts = [envelope];
    const written = this.#steps.next(async () => {
      if (this.#groups.get(id)?.texts === texts) this.#groups.delete(id);
      const executing = this.#unfinished.get(id);
      if (executing?.status !== 'running' || executing.attempt !== run.attempt) return;
      await this.#write(appended(executing, texts));
    });
    this.#groups.set(id, { texts, written });
    return written;
  }

  keep(ref: AttemptRef, kept: Kept): Promise<void> {
    return this.#afterAppends(ref, async (run) => {
      if (run?.status !== 'running') throw interrupted();
      if ('state' in kept) return this.#persist({ ...run, state: kept.state, stateAt: run.lastSeq });
      const { file } = kept;
      const isKnown = [...run.parts, ...run.files].some(
        (part) => part.type === 'file' && part.sha256 === file.sha256,
      );
      if (!isKnown) await this.#persist({ ...run, files: [...run.files, file] });
    });
  }

  end(ref: AttemptRef, end: RunEnd, answer: TurnAnswer): Promise<Ended | undefined> {
    return this.#afterAppends(ref, async (run) => run && this.#end(run, end, answer));
  }

  override handOver(ref: AttemptRef): Promise<boolean> {
    return this.#afterAppends(ref, async (run) => {
      if (run?.status !== 'running') return false;
      await this.#handOver(run);
      return true;
    });
  }

  request({ owner, id }: RunRef, what: 'cancel' | 'detach'): Promise<boolean> {
    return this.#steps.nextNow(async () => {
      const run = this.#unfinished.get(id);
      const member = what === 'cancel' ? 'cancelled' : 'detached';
      if (run?.owner !== owner || run[member]) return false;
      await this.#persist({ ...run, [member]: true });
      if (what === 'cancel' && run.status === 'running') this.#events?.asked(id, what);
      return true;
    });
  }

  find(owner: string, runId: string): Promise<RunRecord | undefined> {
    return this.#find(owner, runId);
  }

  async part(owner: string, runId: string, sha256: string): Promise<TurnFile | TurnText | undefined> {
    const [turn] = await this.#read<StoredTurn>([`turn:${runId}`]);
    const has = (await this.#find(owner, runId)) ?? (turn?.owner === owner ? turn : undefined);
    const file =
      has && [...has.parts, ...has.files].find((part) => part.type === 'file' && part.sha256 === sha256);
    if (file || turn?.owner !== owner) return file;
    const text = shownTurn(turn).longTexts.get(sha256);
    return text === undefined ? undefined : { type: 'text', text };
  }

  async read({ owner, id }: RunRef, after: number): Promise<LogSlice> {
    const run = await this.#steps.patiently(() => this.#find(owner, id));
    if (!run) throw runNotFound();
    const entries = await this.#entries(run, after);
    const last = after + entries.length;
    return {
      first: after + 1,
      count: entries.length,
      lines: entries.map(({ text }) => text).join('\n'),
      endOffset: entries.at(-1)?.endOffset ?? run.endOffset,
      ended: run.endedAt !== undefined && last >= run.lastSeq,
    };
  }

  override async query({ owner, id }: RunRef): Promise<StoredQuery> {
    const run = this.#unfinished.get(id);
    if (run?.owner !== owner) throw runNotFound();
    const { parts, kwargs, state: checkpoint } = run;
    return { parts: [...parts], kwargs, answer: await this.#answerOf(run), checkpoint };
  }

  async turns(owner: string, sessionId: string, page: TurnsPage) {
    const [session] = await this.#read<StoredSession>([`session:${keyOf(owner, sessionId)}`]);
    return (
      session && this.#steps.read(() => turnsPage(this.redis, keyOf(owner, sessionId), session.turns, page))
    );
  }

  queue(owner: string, sessionId: string): RunRecord[] {
    return this.#queue(owner, sessionId);
  }

  async runs(owner: string, page: RunsPage) {
    const { entries, next } = await this.#steps.read(() => runsPage(this.redis, owner, page));
    return { runs: entries.map((run) => this.#unfinished.get(run.id) ?? run), next };
  }

  async sessions(owner: string, page: ListPage) {
    const { entries, next } = await this.#steps.read(() => sessionsPage(this.redis, owner, page));
    const sessions = entries.map(({ id, title, turns, usedAt }) => {
      const active = this.#queue(owner, id).find(({ status }) => status === 'running')?.id;
      return { id, title, turns, usedAt, active };
    });
    return { sessions, next };
  }

  erase(owner: string, sessionId: string): Promise<boolean> {
    return this.#steps.nextNow(async () => {
      const key = keyOf(owner, sessionId);
      const [session] = await this.#read<StoredSession>([`session:${key}`]);
      if (!session) return false;
      if (this.#queue(owner, sessionId).length > 0) throw sessionBusy();
      await this.#steps.write(await this.#dropSession(key));
      return true;
    });
  }

  /** Drops what is older than the retention. The store does this once a minute. */
  async sweep(): Promise<void> {
    const old = (key: string, keptMs: number) =>
      this.#steps.read(() => this.redis.zrangebyscore(key, '-inf', Date.now() - keptMs));
    await this.#steps.nextNow(async () => {
      const runs = await this.#load(await old('ended', this.#retention.runMs));
      await this.#steps.write(runs.flatMap(dropRun));
      for (const key of await old('used', this.#retention.sessionMs)) {
        const [owner, id] = JSON.parse(key) as [string, string];
        if (this.#queue(owner, id).length === 0) await this.#steps.write(await this.#dropSession(key));
      }
    });
  }

  async #admit(admission: Admission): Promise<Admitted> {
    const { owner, session, idempotency } = admission;
    const repeatedBy = idempotency && `key:${keyOf(owner, idempotency.key)}`;
    if (repeatedBy) {
      const [known] = await this.#read<{ id: string; digest: string }>([repeatedBy]);
      const run = known && (await this.#find(owner, known.id));
      if (run && isRepeated(run, known.digest === idempotency.digest)) {
        return { run, created: false, ahead: [] };
      }
    }
    const ahead = session ? this.#queue(owner, session.id) : [];
    refuseBehind(ahead.length, admission);
    const place = placeOf(admission, ahead.length, true);
    const module = admission.module ?? '';
    if (!place.starts) {
      const waiting = [...this.#unfinished.values()].filter((each) => each.status === 'waiting');
      refuseToWait(admission, false, waiting.filter((each) => each.module === module).length);
    }
    const now = Date.now();
    const number = ++this.#number;
    const { runId: id, detached, trace, path, parts, kwargs } = admission;
    const run: StoredRun = {
      ...NEW_RUN,
      ...{ id, owner, module, detached, trace, path, parts, kwargs, repeatedBy, number },
      sessionId: session?.id,
      status: place.starts ? 'running' : 'waiting',
      createdAt: now,
      startedAt: place.starts ? now : undefined,
      ready: place.isReady ? number : 0,
    };
    const log = appended(run, admission.notices(place.starts ? undefined : ahead.length));
    const writes: Write[] = [
      ...log.writes,
      writeRun(log.run),
      ['SET', 'number', number],
      ['SADD', 'unfinished', run.id],
      ['ZADD', `runs:${JSON.stringify(owner)}`, number, run.id],
    ];
    if (repeatedBy)
      writes.push(['SET', repeatedBy, JSON.stringify({ id: run.id, digest: idempotency.digest })]);
    if (session)
      writes.push(...(await this.#useSession(run, 0)), ['SADD', `of:${keyOf(owner, session.id)}`, run.id]);
    try {
      await this.#steps.write(writes);
    } catch (error) {
      // Redis may have executed the writes, but the caller is told that the query was not admitted.
      void this.#steps.next(() => this.#steps.persist(dropRun(run))).catch(() => undefined);
      throw error;
    }
    this.#unfinished.set(run.id, log.run);
    return { run: log.run, created: true, ahead };
  }

  async #end(run: StoredRun, end: RunEnd, answer: TurnAnswer): Promise<Ended> {
    const endedAt = Date.now();
    const { owner, sessionId, parts, createdAt, files } = run;
    const log = appended({ ...run, status: end.status, end, endedAt }, [doneText(end)]);
    const writes: Write[] = [
      ...log.writes,
      writeRun(log.run),
      ['SREM', 'unfinished', run.id],
      ['ZADD', 'ended', endedAt, run.id],
    ];
    let next: StoredRun | undefined;
    if (sessionId !== undefined) {
      const [first, second] = this.#queue(owner, sessionId);
      if (first?.id === run.id && second) next = { ...second, ready: ++this.#number };
      if (next) writes.push(writeRun(next), ['SET', 'number', next.ready]);
      const times = {
        createdAt: new Date(createdAt).toISOString(),
        endedAt: new Date(endedAt).toISOString(),
      };
      const turn = { runId: run.id, parts, ...answer, end, ...times, owner, files };
      writes.push(
        ['SET', `turn:${run.id}`, JSON.stringify(turn)],
        ...(await this.#steps.patiently(() => this.#useSession(run, 1))),
      );
    }
    await this.#steps.persist(writes);
    this.#unfinished.delete(run.id);
    if (next) this.#unfinished.set(next.id, next);
    return { run: log.run, next };
  }

  async #handOver(run: StoredRun): Promise<void> {
    const attempt = run.attempt + 1;
    const { lastSeq, stateAt } = run;
    const voided = lastSeq > stateAt ? [...run.voided, [stateAt + 1, lastSeq] as const] : run.voided;
    const waiting: StoredRun = { ...run, status: 'waiting', attempt, voided };
    const log = appended(waiting, [restartedText(attempt, stateAt)]);
    await this.#write({ run: log.run, writes: [...log.writes, writeRun(log.run)] });
  }

  /** Continues or ends a run whose process was lost. */
  async #recover(run: StoredRun, events: RecoveryEvents): Promise<void> {
    if (!run.cancelled && run.attempt <= events.restarts(run.module)) {
      await this.#handOver(run);
      return events.recovered(run.id, undefined);
    }
    const end: RunEnd = run.cancelled ? { status: 'cancelled' } : INTERRUPTED;
    const { run: ended } = await this.#end(run, end, await this.#answerOf(run));
    events.recovered(run.id, ended);
  }

  /** What the log has of the answer, without what is void. */
  async #answerOf(run: StoredRun): Promise<TurnAnswer> {
    const answer = new KeptAnswer();
    for (let seq = 0; seq < run.lastSeq;) {
      for (const { text } of await this.#entries(run, seq)) {
        seq++;
        const isVoid = run.voided.some(([first, last]) => first <= seq && seq <= last);
        if (!isVoid) answer.add(JSON.parse(text) as never, text);
      }
    }
    return answer.value;
  }

  /** A part of the log, for a follower or a run: both wait for the end of an outage. */
  #entries({ id, lastSeq }: StoredRun, after: number) {
    return this.#steps.patiently(() => entriesOf(this.redis, id, after, lastSeq));
  }

  /** The run as its log is, which has grown since the run was written. */
  async #withEndOfLog(run: StoredRun): Promise<StoredRun> {
    const [last] = await this.redis.zrevrange(`log:${run.id}`, 0, 0);
    if (last === undefined) return run;
    const { seq: lastSeq, endOffset } = entryOf(last);
    return { ...run, lastSeq, endOffset };
  }

  /** Another process may have the runs now. */
  #lose(): void {
    clearInterval(this.#sweepTimer);
    const runs = [...this.#unfinished.values()];
    this.#unfinished.clear();
    for (const { id, status } of runs) if (status === 'running') this.#events?.lost(id);
  }

  /** A step of one attempt, after what was appended before the call, and before what is appended after it. */
  #afterAppends<T>(ref: AttemptRef, step: (run: StoredRun | undefined) => Promise<T>): Promise<T> {
    this.#groups.delete(ref.id);
    return this.#steps.next(() => {
      const run = this.#unfinished.get(ref.id);
      return step(run?.owner === ref.owner && run.attempt === ref.attempt ? run : undefined);
    });
  }

  #persist(run: StoredRun): Promise<void> {
    return this.#write({ run, writes: [writeRun(run)] });
  }

  async #write({ run, writes }: { run: StoredRun; writes: Write[] }): Promise<void> {
    await this.#steps.persist(writes);
    this.#unfinished.set(run.id, run);
  }

  /** The session of a run as it is after one more use. */
  async #useSession({ owner, sessionId: id, parts, id: runId }: StoredRun, turns: 0 | 1): Promise<Write[]> {
    const key = keyOf(owner, id);
    const [known] = await this.#read<StoredSession>([`session:${key}`]);
    const used = ++this.#number;
    const usedAt = Date.now();
    const number = (known?.turns ?? 0) + turns;
    const session = { id, title: known?.title ?? titleOf([...parts]), turns: number, usedAt, used };
    return [
      ['SET', `session:${key}`, JSON.stringify(session)],
      ['SET', 'number', used],
      ['ZADD', `sessions:${JSON.stringify(owner)}`, used, key],
      ['ZADD', 'used', usedAt, key],
      ...(turns === 1 ? [['ZADD', `turns:${key}`, number, runId] satisfies Write] : []),
    ];
  }

  async #dropSession(key: string): Promise<Write[]> {
    const [owner] = JSON.parse(key) as [string];
    const ids = await this.#steps.read(() => this.redis.smembers(`of:${key}`));
    const runs = await this.#load(ids);
    return [
      ...runs.flatMap(dropRun),
      ...ids.map((id): Write => ['DEL', `turn:${id}`]),
      ['DEL', `session:${key}`, `turns:${key}`, `of:${key}`],
      ['ZREM', `sessions:${JSON.stringify(owner)}`, key],
      ['ZREM', 'used', key],
    ];
  }

  #queue(owner: string, sessionId: string): StoredRun[] {
    return [...this.#unfinished.values()].filter((run) => run.owner === owner && run.sessionId === sessionId);
  }

  async #find(owner: string, runId: string): Promise<StoredRun | undefined> {
    const run = this.#unfinished.get(runId) ?? (await this.#load([runId]))[0];
    return run?.owner === owner ? run : undefined;
  }

  async #load(ids: string[]): Promise<StoredRun[]> {
    if (ids.length === 0) return [];
    const texts = await this.#steps.read(() => this.redis.mget(ids.map((id) => `run:${id}`)));
    return texts.flatMap((text) => (text === null ? [] : readRun(text)));
  }

  async #read<T>(keys: string[]): Promise<(T | undefined)[]> {
    const texts = await this.#steps.read(() => this.redis.mget(keys));
    return texts.map((text) => (text === null ? undefined : (JSON.parse(text) as T)));
  }
}

function dropRun({ id, owner, repeatedBy }: StoredRun): Write[] {
  return [
    ['DEL', `run:${id}`, `log:${id}`],
    ['ZREM', `runs:${JSON.stringify(owner)}`, id],
    ['ZREM', 'ended', id],
    ['SREM', 'unfinished', id],
    ...(repeatedBy === undefined ? [] : [['DEL', repeatedBy] satisfies Write]),
  ];
}
