import { pageOf } from '../contract/list-page.js';
import { sessionNotFound } from '../contract/refusals.js';
import { titleOf } from '../contract/turn-texts.js';
import type { TurnAnswer, TurnFile, TurnText } from 'nest-agent-query-client';
import type { Fork, ListPage, NumberedTurn, SessionRecord, TurnsPage } from '../ports/run-store.js';
import { pageOfTurns, refuseToFollow, refuseToFork, refuseToReplace } from '../ports/turn-rules.js';
import { type KeptTurn, keptTurn, OVERHEAD } from './kept-turn.js';
import type { RetentionOptions } from './retention.js';
import type { Run } from './run.js';
import { keyOf } from './runs.js';

interface Session {
  readonly key: string;
  readonly owner: string;
  readonly id: string;
  title: string | undefined;
  /** The turns that are kept, in the order in which their runs ended. */
  turns: KeptTurn[];
  /** How many older turns were dropped. */
  dropped: number;
  /** The unfinished runs. The first one executes. */
  queue: Run[];
  usedAt: number;
  /** The place in the order of last uses. */
  number: number;
}

/** What a new session begins with that is no fork. */
const EMPTY = { title: undefined, turns: [], dropped: 0 } satisfies Partial<Session>;

/** The sessions of a `MemoryRunStore`: their queues and turns. Beyond the limit, those that were unused for longest are dropped. */
export class Sessions {
  readonly #sessions = new Map<string, Session>();
  /** The turns of all sessions, by the ids of their runs. */
  readonly #turns = new Map<string, KeptTurn>();
  /** What all sessions cost, in characters. */
  #length = 0;
  #uses = 0;

  constructor(
    private readonly retention: RetentionOptions,
    private readonly onTurnDropped: (runId: string) => void,
    private readonly onDropped: (owner: string, sessionId: string) => void,
  ) {}

  queue(owner: string, sessionId: string): readonly Run[] {
    return this.#sessions.get(keyOf(owner, sessionId))?.queue ?? [];
  }

  enqueue(run: Run): void {
    if (run.sessionId === undefined) return;
    const session = this.#use(run.owner, run.sessionId);
    session.title ??= titleOf(run.parts);
    session.queue.push(run);
  }

  /** Removes a run from the queue, and adds its turn unless it is replaced. Returns the run that is now the first, if that has changed. */
  finish(run: Run, answer: TurnAnswer): Run | undefined {
    const { parts } = run;
    run.parts = [];
    if (run.sessionId === undefined) return undefined;
    const session = this.#use(run.owner, run.sessionId);
    const position = session.queue.indexOf(run);
    session.queue.splice(position, 1);
    if (run.isReplaced) this.onTurnDropped(run.id);
    else this.#add(keptTurn(run, parts, answer), session);
    run.files = [];
    return position === 0 ? session.queue[0] : undefined;
  }

  #add(kept: KeptTurn, session: Session): void {
    session.turns.push(kept);
    this.#turns.set(kept.whole.turn.runId, kept);
    this.#length += kept.whole.length;
  }

  /** @throws {QueryError} see `refuseToReplace` */
  refuseToReplace(owner: string, sessionId: string, afterTurn: number): void {
    const session = this.#sessions.get(keyOf(owner, sessionId));
    refuseToReplace(afterTurn, session?.queue.length ?? 0, session ? newestOf(session) : 0);
  }

  /** @throws {QueryError} see `refuseToFollow` */
  refuseToFollow(owner: string, sessionId: string, afterRun: string): void {
    const session = this.#sessions.get(keyOf(owner, sessionId));
    refuseToFollow(afterRun, session?.queue.length ?? 0, session?.turns.at(-1)?.whole.turn.runId);
  }

  /** Removes the turns after a number. */
  replace(owner: string, sessionId: string, afterTurn: number): void {
    const session = this.#sessions.get(keyOf(owner, sessionId));
    if (!session) return;
    for (const turn of session.turns.splice(Math.max(0, afterTurn - session.dropped))) this.#dropTurn(turn);
    session.dropped = Math.min(session.dropped, afterTurn);
    if (afterTurn === 0) session.title = undefined;
  }

  /** Removes the turn of a run and those after it. A run that has not ended gets none. */
  replaceRun(owner: string, sessionId: string, runId: string): void {
    const session = this.#sessions.get(keyOf(owner, sessionId));
    const run = session?.queue.find(({ id }) => id === runId);
    if (run) {
      run.isReplaced = true;
      if (newestOf(session!) === 0) session!.title = undefined;
      return;
    }
    const index = session?.turns.findIndex(({ whole }) => whole.turn.runId === runId) ?? -1;
    if (index >= 0) this.replace(owner, sessionId, session!.dropped + index);
  }

  /** @throws {QueryError} see `refuseToFork` */
  fork(owner: string, fork: Fork): SessionRecord | undefined {
    const { sessionId, afterTurn, newId } = fork;
    const source = sessionId === undefined ? EMPTY : this.#sessions.get(keyOf(owner, sessionId));
    if (!source) return undefined;
    refuseToFork(fork, newestOf(source), this.#sessions.has(keyOf(owner, newId)));
    const session = this.#use(owner, newId);
    session.title = afterTurn === 0 ? undefined : source.title;
    session.dropped = Math.min(source.dropped, afterTurn);
    session.turns = source.turns.slice(0, afterTurn - session.dropped);
    for (const turn of session.turns) {
      turn.uses++;
      this.#length += turn.whole.length;
    }
    return recordOf(session);
  }

  /**
   * Makes a session that begins with turns of another one, unless the owner has it already.
   *
   * @throws {QueryError} `not_found`: there is no such other session · see `refuseToFork`
   */
  begin(owner: string, newId: string, fork: Pick<Fork, 'sessionId' | 'afterTurn'>): void {
    const isMade = this.#sessions.has(keyOf(owner, newId)) || this.fork(owner, { ...fork, newId });
    if (!isMade) throw sessionNotFound();
  }

  turns(owner: string, sessionId: string, page: TurnsPage) {
    const session = this.#sessions.get(keyOf(owner, sessionId));
    if (!session) return undefined;
    const { after, limit, cutTexts = false } = page;
    const { dropped } = session;
    const total = newestOf(session);
    const from = Math.min(total, Math.max(dropped, after ?? total - limit));
    const kept = session.turns.slice(from - dropped, from - dropped + limit);
    const forms = kept.map((turn) => (cutTexts ? turn.shown : turn.whole));
    const { turns, last } = pageOfTurns(forms, page, from + kept.length, total, ({ length }) => length);
    return { turns: turns.map(({ turn }) => turn), last, total };
  }

  turn(owner: string, sessionId: string, runId: string): NumberedTurn | undefined {
    const kept = this.#turns.get(runId);
    const session = this.#sessions.get(keyOf(owner, sessionId));
    const index = kept && session ? session.turns.indexOf(kept) : -1;
    return index < 0 ? undefined : { turn: kept!.shown.turn, number: session!.dropped + index + 1 };
  }

  page(owner: string, page: ListPage) {
    const listed = [...this.#sessions.values()].filter((session) => session.owner === owner).reverse();
    const { entries, next } = pageOf(listed, page, ({ key }) => OVERHEAD + key.length);
    return { sessions: entries.map(recordOf), next };
  }

  /** A file of a turn, or a text of it that pages show cut. */
  part(owner: string, runId: string, sha256: string): TurnFile | TurnText | undefined {
    const turn = this.#turns.get(runId);
    if (turn?.owner !== owner) return undefined;
    const text = turn.longTexts.get(sha256);
    return fileOf(turn.files, sha256) ?? (text === undefined ? undefined : { type: 'text', text });
  }

  erase(owner: string, sessionId: string): boolean {
    const session = this.#sessions.get(keyOf(owner, sessionId));
    if (session) this.#drop(session);
    return session !== undefined;
  }

  /** Drops what is too old or exceeds the limit. Stops at the first session that stays. */
  sweep(): void {
    const { sessionMs, sessionsLength } = this.retention;
    const old = Date.now() - sessionMs;
    let left = this.#sessions.size;
    for (const session of this.#sessions.values()) {
      if (session.usedAt > old && this.#length <= sessionsLength) return;
      const isIdle = session.queue.length === 0;
      // The newest session is in use: only its oldest turns are dropped.
      if (isIdle && (--left > 0 || session.usedAt <= old)) this.#drop(session);
      else this.#shorten(session);
    }
  }

  #use(owner: string, sessionId: string): Session {
    const key = keyOf(owner, sessionId);
    let session = this.#sessions.get(key);
    if (session) this.#sessions.delete(key);
    else {
      const empty = { turns: [], dropped: 0, queue: [] };
      session = { key, owner, id: sessionId, title: undefined, ...empty, usedAt: 0, number: 0 };
      this.#length += OVERHEAD + key.length;
    }
    session.usedAt = Date.now();
    session.number = ++this.#uses;
    this.#sessions.set(key, session);
    return session;
  }

  #shorten(session: Session): void {
    while (this.#length > this.retention.sessionsLength && session.turns.length > 0) {
      this.#dropTurn(session.turns.shift()!);
      session.dropped++;
    }
  }

  #drop({ key, owner, id, turns }: Session): void {
    this.#sessions.delete(key);
    this.#length -= OVERHEAD + key.length;
    for (const turn of turns) this.#dropTurn(turn);
    this.onDropped(owner, id);
  }

  #dropTurn(kept: KeptTurn): void {
    const { turn, length } = kept.whole;
    this.#length -= length;
    if (--kept.uses > 0) return;
    this.#turns.delete(turn.runId);
    this.onTurnDropped(turn.runId);
  }
}

/** The file with a digest. Of several, the first has the name that is kept. */
export function fileOf(files: TurnFile[], sha256: string): TurnFile | undefined {
  return files.find((file) => file.sha256 === sha256);
}

/** The number of the newest turn. */
function newestOf({ turns, dropped }: Pick<Session, 'turns' | 'dropped'>): number {
  return dropped + turns.length;
}

function recordOf(session: Session): SessionRecord {
  const { id, title, queue, usedAt } = session;
  const idOf = (wanted: Run['status']) => queue.find(({ status }) => status === wanted)?.id;
  const [active, asking] = [idOf('running'), idOf('input_required')];
  return { id, title, turns: newestOf(session), usedAt, active, asking };
}
