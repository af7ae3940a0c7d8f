import type { RetentionOptions, RunsPage } from 'nest-agent-query';
import { hasMetadata, titleOf } from 'nest-agent-query/store-rules';
import type { Change } from './redis-steps.js';
import { keyOf, type StoredRun, type StoredSession } from './stored-run.js';

/** The copy of the runs and sessions that a process has. A change of Redis changes it when Redis has the change. */
export class LocalCopy {
  /** In the order of their admission. */
  readonly unfinished = new Map<string, StoredRun>();
  readonly #ended = new Map<string, StoredRun>();
  readonly #sessions = new Map<string, StoredSession>();
  /** The ids of runs, by their idempotency keys. */
  readonly #keys = new Map<string, string>();
  /** The last number for what needs an order: admissions, uses of sessions, and runs that become ready. */
  #number = 0;

  find(owner: string, runId: string): StoredRun | undefined {
    const run = this.unfinished.get(runId) ?? this.#ended.get(runId);
    return run?.owner === owner ? run : undefined;
  }

  /** The run that an idempotency key has started. */
  withKey(owner: string, key: string): StoredRun | undefined {
    return this.find(owner, this.#keys.get(keyOf(owner, key)) ?? '');
  }

  session(owner: string, sessionId: string): StoredSession | undefined {
    return this.#sessions.get(keyOf(owner, sessionId));
  }

  /** The unfinished runs of a session, oldest first. */
  queue(owner: string, sessionId: string): StoredRun[] {
    return [...this.unfinished.values()].filter((run) => run.owner === owner && run.sessionId === sessionId);
  }

  waiting(module = ''): StoredRun[] {
    return [...this.unfinished.values()].filter((run) => run.status === 'waiting' && run.module === module);
  }

  /** Those that have been ready for longest first. */
  ready(count: number, module: string): StoredRun[] {
    const runs = this.waiting(module).filter((run) => run.ready > 0);
    return runs.sort((a, b) => a.ready - b.ready).slice(0, count);
  }

  /** Those that were admitted last first. */
  runsOf(owner: string, only: Pick<RunsPage, 'sessionId' | 'status' | 'metadata'>): StoredRun[] {
    const runs = [...this.#ended.values(), ...this.unfinished.values()].filter(
      (run) =>
        run.owner === owner &&
        (only.sessionId === undefined || run.sessionId === only.sessionId) &&
        (only.status === undefined || run.status === only.status) &&
        hasMetadata(run, only.metadata),
    );
    return runs.sort((a, b) => b.number - a.number);
  }

  /** Those that were used last first. */
  sessionsOf(owner: string): StoredSession[] {
    const sessions = [...this.#sessions.values()].filter((session) => session.owner === owner);
    return sessions.sort((a, b) => b.number - a.number);
  }

  /** The next place in an order. */
  nextNumber(): number {
    return ++this.#number;
  }

  put(run: StoredRun) {
    return {
      command: ['HSET', 'runs', run.id, JSON.stringify(run)],
      apply: () => {
        if (run.endedAt !== undefined) this.unfinished.delete(run.id);
        (run.endedAt === undefined ? this.unfinished : this.#ended).set(run.id, run);
        if (run.key !== undefined) this.#keys.set(run.key, run.id);
        this.#number = Math.max(this.#number, run.number, run.ready);
      },
    };
  }

  putSession(session: StoredSession) {
    const key = keyOf(session.owner, session.id);
    return {
      command: ['HSET', 'sessions', key, JSON.stringify(session)],
      apply: () => {
        this.#sessions.set(key, session);
        this.#number = Math.max(this.#number, session.number);
      },
    };
  }

  #drop({ id, key = '' }: StoredRun): Change[] {
    const apply = () => {
      this.#ended.delete(id);
      if (this.#keys.get(key) === id) this.#keys.delete(key);
    };
    return [{ command: ['HDEL', 'runs', id], apply }, { command: ['DEL', `log:${id}`] }];
  }

  dropSession({ owner, id, turns }: StoredSession): Change[] {
    const key = keyOf(owner, id);
    const runs = [...this.#ended.values()].filter((run) => run.owner === owner && run.sessionId === id);
    return [
      ...runs.flatMap((run) => this.#drop(run)),
      ...turns.map((runId) => ({ command: ['HDEL', 'turns', runId] })),
      { command: ['HDEL', 'sessions', key], apply: () => this.#sessions.delete(key) },
    ];
  }

  /** The changes that drop what is older than the retention. */
  dropOld({ runMs, sessionMs }: Pick<RetentionOptions, 'runMs' | 'sessionMs'>): Change[] {
    const now = Date.now();
    const runs = [...this.#ended.values()].filter(({ endedAt }) => endedAt! <= now - runMs);
    const sessions = [...this.#sessions.values()].filter(
      ({ owner, id, usedAt }) => usedAt <= now - sessionMs && this.queue(owner, id).length === 0,
    );
    return [
      ...runs.flatMap((run) => this.#drop(run)),
      ...sessions.flatMap((session) => this.dropSession(session)),
    ];
  }

  /** The session of a run as it is after one more use, if the run has one. */
  used({ owner, sessionId: id, parts }: StoredRun, newTurns: string[] = []) {
    if (id === undefined) return [];
    const { title, turns = [] } = this.session(owner, id) ?? {};
    const used = { turns: [...turns, ...newTurns], usedAt: Date.now(), number: ++this.#number };
    return [this.putSession({ owner, id, title: title ?? titleOf(parts), ...used })];
  }
}
