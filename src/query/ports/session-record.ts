import type { Turn } from 'nest-agent-query-client';

/**
 * What happens to a query of a session that has an unfinished run: it waits in the queue of the session, it is refused with
 * `session_busy`, or it cancels the unfinished runs.
 */
export type SessionPolicy = 'enqueue' | 'reject' | 'interrupt';

/** What a newer query does to a run of its session that asks. */
export type OnAsking = 'supersede' | 'enqueue' | 'reject';

/** A page of turns. */
export interface TurnsPage {
  /** How many turns to skip; undefined for the newest turns. */
  after: number | undefined;
  /** The most turns to return. */
  limit: number;
  /** The most characters of JSON that they have together; at least one turn is returned. Default: no limit. */
  maxLength?: number;
  /**
   * Whether texts over 64 KiB are cut, as callers get them; `RunStore.part` returns the whole. Default false, as handlers get
   * them. The contents of messages are cut with the text of the answer, and count a second time for the length of such a page.
   */
  cutTexts?: boolean;
}

/** A turn of a session, with its place. */
export interface NumberedTurn {
  turn: Turn;
  /** The number of the turn in its session, from 1. */
  number: number;
}

/** What a new session begins with: the first turns of another one, or nothing. */
export interface Fork {
  /** The id of the session whose turns it begins with. Undefined: it is empty. */
  sessionId: string | undefined;
  /** How many of them: up to the number of the newest turn. */
  afterTurn: number;
  /** The id of the new session. */
  newId: string;
}

/** A session as lists have it. */
export interface SessionRecord {
  readonly id: string;
  /**
   * The beginning of the first text of its queries; see `titleOf`. Undefined if none of them has a text. A fork that begins with a
   * turn has the title of the session it comes from.
   */
  readonly title: string | undefined;
  /** The number of the newest turn. */
  readonly turns: number;
  /** When its newest run was admitted, its newest turn was added or it was forked, whichever is last; milliseconds since the epoch. */
  readonly usedAt: number;
  /** The id of the run that executes. */
  readonly active: string | undefined;
  /** The id of the run that asks. Default: none does. */
  readonly asking?: string | undefined;
}
