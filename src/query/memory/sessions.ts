import { shownTurn, titleOf, withoutMessageTexts } from '../contract/turn-texts.js';
import type { Envelope, Turn } from 'nest-agent-query-client';
import type { ListPage, SessionRecord, TurnsPage } from '../ports/run-store.js';
import { pageOf } from './pages.js';
import type { RetentionOptions } from './retention.js';
import type { Run } from './runs.js';

/** What a turn or a session costs besides its texts, in characters. */
const OVERHEAD = 256;

/** A turn, and what pages show of it. */
interface KeptTurn {
  readonly owner: string;
  readonly whole: Turn;
  readonly shown: Turn;
  /** The texts that pages show cut, by their digests. */
  readonly longTexts: ReadonlyMap<string, string>;
  /** What the turn costs, in characters: the contents of messages are a part of the text. */
  readonly length: number;
  readonly shownLength: number;
}

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
  length: number;
  usedAt: number;
  /** The place in the order of last uses. */
  number: number;
}

/** The sessions of a `MemoryRunStore`: their queues and turns. Beyond the limit, those that were unused for longest are dropped. */
export class Sessions {
  readonly #sessions = new Map<string, Session>();
  /** The turns of all sessions, by the ids of their runs. */
  readonly #turns = new Map<string, KeptTurn>();
  #length = 0;
  #uses = 0;

  /** @param onDropped called for each run whose turn is no longer kept */
  constructor(
    private readonly retention: RetentionOptions,
    private readonly onDropped: (runId: string) => void,
  ) {}

  queue(owner: string, sessionId: string): readonly Run[] {
    return this.#sessions.get(keyOf(owner, sessionId))?.queue ?? [];
  }

  enqueue(run: Run): void {
    if (run.sessionId === undefined) return;
    const session = this.#use(run.owner, run.sessionId);
    session.title ??= titleOf(run.parts ?? []);
    session.queue.push(run);
  }

  /** Removes a run from the queue, and adds its turn. Returns the run that is now the first, if that has changed. */
  finish(run: Run, turn: Turn): Run | undefined {
    if (run.sessionId === undefined) return undefined;
    const session = this.#use(run.owner, run.sessionId);
    const position = session.queue.indexOf(run);
    session.queue.splice(position, 1);
    const kept = keptTurn(run.owner, turn);
    session.turns.push(kept);
    this.#turns.set(turn.runId, kept);
    this.#grow(session, kept.length);
    this.sweep();
    return position === 0 ? session.queue[0] : undefined;
  }

  turns(
    owner: string,
    sessionId: string,
    { after, limit, maxLength = Infinity, cutTexts = false }: TurnsPage,
  ) {
    this.sweep();
    const session = this.#sessions.get(keyOf(owner, sessionId));
    if (!session) return undefined;
    const total = session.dropped + session.turns.length;
    const from = Math.min(total, Math.max(session.dropped, after ?? total - limit));
    const kept = session.turns.slice(from - session.dropped, from - session.dropped + limit);
    const isNewest = after === undefined;
    const length = cutTexts ? 'shownLength' : 'length';
    const fitting = fit(isNewest ? kept.toReversed() : kept, length, maxLength);
    const turns = fitting.map(({ shown, whole }) => (cutTexts ? shown : whole));
    if (!isNewest) return { turns, last: from + turns.length, total };
    return { turns: turns.reverse(), last: from + kept.length, total };
  }

  page(owner: string, page: ListPage) {
    this.sweep();
    const listed = [...this.#sessions.values()].filter((session) => session.owner === owner).reverse();
    const { entries, next } = pageOf(
      listed,
      page,
      ({ number }) => number,
      ({ key }) => OVERHEAD + key.length,
    );
    return { sessions: entries.map(recordOf), next };
  }

  text(owner: string, runId: string, sha256: string): string | undefined {
    this.sweep();
    const turn = this.#turns.get(runId);
    return turn?.owner === owner ? turn.longTexts.get(sha256) : undefined;
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
      const empty = { turns: [], dropped: 0, queue: [], length: 0 };
      session = { key, owner, id: sessionId, title: undefined, ...empty, usedAt: 0, number: 0 };
      this.#grow(session, OVERHEAD + key.length);
    }
    session.usedAt = Date.now();
    session.number = ++this.#uses;
    this.#sessions.set(key, session);
    return session;
  }

  #shorten(session: Session): void {
    while (this.#length > this.retention.sessionsLength && session.turns.length > 0) {
      const { whole, length } = session.turns.shift()!;
      this.#grow(session, -length);
      session.dropped++;
      this.#dropTurn(whole);
    }
  }

  #drop(session: Session): void {
    this.#sessions.delete(session.key);
    this.#length -= session.length;
    for (const { whole } of session.turns) this.#dropTurn(whole);
  }

  #dropTurn({ runId }: Turn): void {
    this.#turns.delete(runId);
    this.onDropped(runId);
  }

  #grow(session: Session, length: number): void {
    session.length += length;
    this.#length += length;
  }
}

/** One key for an owner and a name. As JSON, two different pairs never have the same key. */
export function keyOf(owner: string, name: string): string {
  return JSON.stringify([owner, name]);
}

function recordOf({ id, title, turns, dropped, queue, usedAt }: Session): SessionRecord {
  const active = queue.find(({ status }) => status === 'running')?.id;
  return { id, title, turns: dropped + turns.length, usedAt, active };
}

/** Cuts the long texts once, when the run ends, so that no page has to read them. */
function keptTurn(owner: string, whole: Turn): KeptTurn {
  const { shown, longTexts } = shownTurn(whole);
  const envelopes = withoutMessageTexts(whole);
  return {
    owner,
    whole,
    shown,
    longTexts,
    length: lengthOf(whole, envelopes),
    shownLength: lengthOf(shown, envelopes) + shown.text.length,
  };
}

/** Takes turns from the beginning until the length is used up, but at least one. */
function fit(turns: KeptTurn[], member: 'length' | 'shownLength', maxLength: number): KeptTurn[] {
  let length = 0;
  return turns.filter((turn, index) => (length += turn[member]) <= maxLength || index === 0);
}

/** @param envelopes those of the turn without the texts of its messages; undefined if the text is the only message */
function lengthOf({ parts, text }: Turn, envelopes: Envelope[] | undefined): number {
  let length = OVERHEAD + text.length + (envelopes ? JSON.stringify(envelopes).length : 0);
  for (const part of parts) length += OVERHEAD + (part.type === 'text' ? part.text : part.name).length;
  return length;
}
