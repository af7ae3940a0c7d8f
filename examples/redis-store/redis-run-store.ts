import { Redis } from 'ioredis';
import type * as port from 'nest-agent-query';
import { MEMORY_RETENTION_DEFAULTS, RunStore } from 'nest-agent-query';
import * as rules from 'nest-agent-query/store-rules';
import { LocalCopy } from './local-copy.js';
import { RedisReads } from './redis-reads.js';
import { RedisSteps } from './redis-steps.js';
import { entriesOf, fileOf, grown, newRun } from './stored-run.js';
import type { StoredRun, StoredSession, StoredTurn } from './stored-run.js';

export interface RedisRunStoreOptions {
  /** How long runs and sessions are kept. Members that are absent have their default. */
  retention?: Partial<Pick<port.RetentionOptions, 'runMs' | 'sessionMs'>>;
  /** How long a process may be silent before another one may take its data, in milliseconds. Default 10,000. */
  lockMs?: number;
}

/**
 * Keeps runs in Redis, for one process. Redis has everything. This process has a copy of the runs and the sessions, but not of
 * their logs and turns, so it decides without asking. A change takes effect here when Redis has it.
 */
export class RedisRunStore extends RunStore {
  override readonly durable = true;
  readonly #redis: Redis;
  readonly #steps: RedisSteps;
  readonly #reads: RedisReads;
  readonly #copy = new LocalCopy();
  readonly #retention: Pick<port.RetentionOptions, 'runMs' | 'sessionMs'>;
  /** Envelopes of one run that are written together. */
  readonly #groups = new Map<string, { texts: string[]; written: Promise<void> }>();
  #host: port.StoreHost | undefined;
  /** @param url `redis://…` */
  constructor(url: string, { retention, lockMs = 10_000 }: RedisRunStoreOptions = {}) {
    super();
    this.#redis = new Redis(url, {
      maxRetriesPerRequest: null,
      retryStrategy: (count) => Math.min(10 * count, 1_000),
    });
    this.#steps = new RedisSteps(this.#redis, lockMs, {
      renewed: () => this.sweep(),
      lost: () => this.#lose(),
    });
    this.#reads = new RedisReads(this.#redis, this.#steps);
    this.#retention = { ...MEMORY_RETENTION_DEFAULTS, ...retention };
  }

  override async open(host: port.StoreHost): Promise<void> {
    this.#host = host;
    await this.#steps.open();
    const [runs, sessions] = await Promise.all([this.#redis.hvals('runs'), this.#redis.hvals('sessions')]);
    for (const text of sessions) this.#copy.putSession(JSON.parse(text) as StoredSession).apply();
    const stored = runs.map((text) => JSON.parse(text) as StoredRun).sort((a, b) => a.number - b.number);
    for (const run of stored)
      this.#copy.put(run.endedAt === undefined ? await this.#reads.withEndOfLog(run) : run).apply();
    for (const run of this.#copy.unfinished.values())
      if (run.status === 'running') await this.#recover(run, host);
    if (this.#copy.unfinished.size > 0) host.ready();
  }

  override close(): Promise<void> {
    return this.#steps.close();
  }

  /** Ends as a crash would. For tests. */
  crash(): void {
    this.#steps.crash();
  }

  override check(): void {
    this.#steps.check();
  }

  admit(admission: port.Admission): Promise<port.Admitted> {
    return this.#steps.nextNow(() => this.#admit(admission));
  }

  take(count: number, module = ''): Promise<port.RunRecord[]> {
    return this.#steps.nextNow(async () => {
      const at = Date.now();
      const started = this.#copy.ready(count, module).map((run): StoredRun => {
        return { ...run, status: 'running', startedAt: run.startedAt ?? at };
      });
      await this.#steps.write(started.map((run) => this.#copy.put(run)));
      return started;
    });
  }

  append({ owner, id }: port.RunRef, envelope: string): void | Promise<void> {
    const run = this.#copy.unfinished.get(id);
    if (run?.owner !== owner || run.status !== 'running') return;
    const open = this.#groups.get(id);
    if (open) {
      open.texts.push(envelope);
      return open.written;
    }
    const texts = [envelope];
    const written = this.#afterAppends(run, async (executing) => {
      if (this.#groups.get(id)?.texts === texts) this.#groups.delete(id);
      if (executing?.status !== 'running') return;
      const longer = grown(executing, texts);
      const { apply } = this.#copy.put(longer);
      await this.#steps.write([...entriesOf(longer, texts), { apply }]);
    });
    this.#groups.set(id, { texts, written });
    return written;
  }

  override saveCheckpoint(ref: port.AttemptRef, state: string): Promise<void> {
    return this.#change(ref, ({ lastSeq }) => ({ state, stateAt: lastSeq }));
  }

  saveFile(ref: port.AttemptRef, file: port.TurnFile): Promise<void> {
    return this.#change(ref, (run) => ({
      files: fileOf(run, file.sha256) ? run.files : [...run.files, file],
    }));
  }

  #change(ref: port.AttemptRef, changeOf: (run: StoredRun) => Partial<StoredRun>): Promise<void> {
    return this.#afterAppends(ref, async (run) => {
      if (run?.status !== 'running') throw rules.interrupted();
      await this.#steps.write([this.#copy.put({ ...run, ...changeOf(run) })]);
    });
  }

  end(ref: port.AttemptRef, end: port.RunEnd, answer: port.TurnAnswer): Promise<port.Ended | undefined> {
    return this.#afterAppends(ref, async (run) => run && this.#end(run, end, answer));
  }

  override handOver(ref: port.AttemptRef): Promise<boolean> {
    return this.#afterAppends(ref, async (run) => {
      if (run?.status !== 'running') return false;
      await this.#handOver(run);
      return true;
    });
  }

  wish({ owner, id }: port.RunRef, what: 'cancel' | 'detach'): Promise<boolean> {
    return this.#steps.nextNow(async () => {
      const run = this.#copy.unfinished.get(id);
      const member = what === 'cancel' ? 'cancelled' : 'detached';
      if (run?.owner !== owner || run[member]) return false;
      await this.#steps.write([this.#copy.put({ ...run, [member]: true })]);
      if (what === 'cancel' && run.status === 'running') this.#host?.wished(id, what);
      return true;
    });
  }

  find(owner: string, runId: string): StoredRun | undefined {
    return this.#copy.find(owner, runId);
  }

  async part(owner: string, runId: string, sha256: string) {
    const [stored] = (await this.#reads.turns([runId])).filter((each) => each.owner === owner);
    const run = this.#copy.find(owner, runId) ?? (stored && { ...stored, parts: stored.turn.parts });
    const text = stored && rules.shownTurn(stored.turn).longTexts.get(sha256);
    return (run && fileOf(run, sha256)) ?? (text === undefined ? undefined : { type: 'text' as const, text });
  }

  async read({ owner, id }: port.RunRef, after: number): Promise<port.LogSlice> {
    const run = this.#copy.find(owner, id);
    if (!run) throw rules.runNotFound();
    const entries = await this.#reads.entries(run, after);
    const lines = entries.map(({ text }) => text).join('\n');
    const endOffset = entries.at(-1)?.endOffset ?? run.endOffset;
    const ended = run.endedAt !== undefined && after + entries.length >= run.lastSeq;
    return { first: after + 1, count: entries.length, lines, endOffset, ended };
  }

  override async query({ owner, id }: port.RunRef): Promise<port.StoredQuery> {
    const run = this.#copy.unfinished.get(id);
    if (run?.owner !== owner) throw rules.runNotFound();
    const { parts, kwargs, state: checkpoint } = run;
    return { parts, kwargs, answer: await this.#reads.answerOf(run), checkpoint };
  }

  async turns(owner: string, sessionId: string, page: port.TurnsPage) {
    const session = this.#copy.session(owner, sessionId);
    if (!session) return undefined;
    const { after, limit, cutTexts = false } = page;
    const total = session.turns.length;
    const first = after ?? Math.max(0, total - limit);
    const stored = await this.#reads.turns(session.turns.slice(first, first + limit));
    const turns = stored.map(({ turn }) => (cutTexts ? rules.shownTurn(turn).shown : turn));
    // The contents of messages are the text of the answer. They count with it, and once more in a page that shows them.
    const lengthOf = (turn: port.Turn) => JSON.stringify(turn).length - (cutTexts ? 0 : turn.text.length);
    return rules.pageOfTurns(turns, page, Math.min(total, first + limit), total, lengthOf);
  }

  queue(owner: string, sessionId: string): StoredRun[] {
    return this.#copy.queue(owner, sessionId);
  }

  runs(owner: string, { sessionId, status, metadata, ...page }: port.RunsPage) {
    const runs = this.#copy.runsOf(owner, { sessionId, status, metadata });
    const lengthOf = ({ sessionId = '', metadata = {} }: StoredRun) =>
      256 + sessionId.length + JSON.stringify(metadata).length;
    const { entries, next } = rules.pageOf(runs, page, lengthOf);
    return { runs: entries, next };
  }

  sessions(owner: string, page: port.ListPage) {
    const lengthOf = ({ id }: StoredSession) => 256 + id.length;
    const { entries, next } = rules.pageOf(this.#copy.sessionsOf(owner), page, lengthOf);
    const sessions = entries.map(({ id, title, turns, usedAt }) => {
      const active = this.#copy.queue(owner, id).find(({ status }) => status === 'running')?.id;
      return { id, title, turns: turns.length, usedAt, active, asking: undefined };
    });
    return { sessions, next };
  }

  erase(owner: string, sessionId: string): Promise<boolean> {
    return this.#steps.nextNow(async () => {
      const session = this.#copy.session(owner, sessionId);
      if (!session) return false;
      if (this.#copy.queue(owner, sessionId).length > 0) throw rules.sessionBusy();
      await this.#steps.write(this.#copy.dropSession(session));
      return true;
    });
  }

  /** Drops what is older than the retention. The store does this again and again. */
  sweep(): Promise<void> {
    return this.#steps.nextNow(async () => {
      const dropped = this.#copy.dropOld(this.#retention);
      if (dropped.length > 0) await this.#steps.write(dropped);
    });
  }

  async #admit(admission: port.Admission): Promise<port.Admitted> {
    const { owner, session, idempotency, module } = admission;
    const known = idempotency && this.#copy.withKey(owner, idempotency.key);
    if (known && rules.isRepeated(known, known.digest === idempotency.digest)) {
      return { run: known, created: false, ahead: [] };
    }
    const ahead = session ? this.#copy.queue(owner, session.id) : [];
    rules.refuseBehind(ahead.length, admission);
    const place = rules.placeOf(admission, ahead.length, true);
    if (!place.starts) rules.refuseToWait(admission, false, this.#copy.waiting(module).length);
    const log = admission.notices(place.starts ? undefined : ahead.length);
    const run = grown(newRun(admission, place, this.#copy.nextNumber()), log);
    await this.#steps.write([...entriesOf(run, log), this.#copy.put(run), ...this.#copy.used(run)]);
    return { run, created: true, ahead };
  }

  async #end(run: StoredRun, end: port.RunEnd, answer: port.TurnAnswer): Promise<port.Ended> {
    const { id: runId, owner, sessionId, parts, files } = run;
    const endedAt = Date.now();
    const log = [rules.doneText(end)];
    const rest = { parts: parts.filter((part) => part.type === 'file'), kwargs: {}, state: undefined };
    const ended = grown({ ...run, ...rest, status: end.status, end, endedAt }, log);
    const changes = [...entriesOf(ended, log), this.#copy.put(ended), ...this.#copy.used(run, [runId])];
    let next: StoredRun | undefined;
    if (sessionId !== undefined) {
      const [first, second] = this.#copy.queue(owner, sessionId);
      if (first === run && second) next = { ...second, ready: this.#copy.nextNumber() };
      if (next) changes.push(this.#copy.put(next));
      const turn: StoredTurn = { turn: rules.turnOfRun(ended, parts, answer), owner, files };
      changes.push({ command: ['HSET', 'turns', runId, JSON.stringify(turn)] });
    }
    await this.#steps.write(changes);
    return { run: ended, next };
  }

  async #handOver(run: StoredRun): Promise<void> {
    const attempt = run.attempt + 1;
    const { lastSeq, stateAt } = run;
    const voided = lastSeq > stateAt ? [...run.voided, [stateAt + 1, lastSeq] as const] : run.voided;
    const log = [rules.restartedText(attempt, stateAt)];
    const waiting = grown({ ...run, status: 'waiting', attempt, voided }, log);
    await this.#steps.write([...entriesOf(waiting, log), this.#copy.put(waiting)]);
  }

  /** Continues or ends a run whose process was lost. */
  async #recover(run: StoredRun, host: port.StoreHost): Promise<void> {
    if (!run.cancelled && run.lost < host.restarts(run.module)) {
      await this.#handOver({ ...run, lost: run.lost + 1 });
      return host.recovered(run.id, undefined);
    }
    const end: port.RunEnd = run.cancelled ? { status: 'cancelled' } : rules.INTERRUPTED;
    const { run: ended } = await this.#end(run, end, await this.#reads.answerOf(run));
    host.recovered(run.id, ended);
  }

  /** Another process may have the runs now. */
  #lose(): void {
    const runs = [...this.#copy.unfinished.values()];
    this.#copy.unfinished.clear();
    for (const { id, status } of runs) if (status === 'running') this.#host?.lost(id);
  }

  /** A step of one attempt, after what was appended before the call, and before what is appended after it. */
  #afterAppends<T>(ref: port.AttemptRef, step: (run: StoredRun | undefined) => Promise<T>): Promise<T> {
    this.#groups.delete(ref.id);
    return this.#steps.next(() => {
      const run = this.#copy.unfinished.get(ref.id);
      return step(run?.owner === ref.owner && run.attempt === ref.attempt ? run : undefined);
    });
  }
}
