import { randomUUID } from 'node:crypto';
import { digestOf } from '../../view/json.js';
import { notFound } from '../refusals.js';

/** Which leg of which run a response is, and how it was asked for. Its id says all of it, because nothing else keeps it. */
export interface ResponseId {
  runId: string;
  /** From 1. */
  leg: number;
  /** The client asked for a structured result. */
  isStructured: boolean;
  /** The client does not wait for it. */
  isBackground: boolean;
  /** Whether it can be found by its id. */
  isStored: boolean;
}

/** `resp_{runId}`, with `_2` of the second leg, `_b` of a response in the background, `_j` of one whose text is JSON. */
const ID = /^resp_([\da-f-]{36})(?:_([1-9]\d{0,8}))?(?:_(b?j?))?$/;

export function responseIdText({ runId, leg, isStructured, isBackground, isStored }: ResponseId): string {
  const flags = (isBackground ? 'b' : '') + (isStructured ? 'j' : '');
  return `resp_${isStored ? '' : 'unstored_'}${runId}${leg > 1 ? `_${leg}` : ''}${flags && `_${flags}`}`;
}

/** @throws {QueryError} `not_found` */
export function responseIdOf(text: string): ResponseId {
  const [, runId, leg = '1', flags = ''] = ID.exec(text) ?? [];
  if (runId === undefined) throw notFound('response');
  const isBackground = flags.includes('b');
  return { runId, leg: Number(leg), isStructured: flags.includes('j'), isBackground, isStored: true };
}

/**
 * The id of a session for a response that belongs to no conversation of the caller.
 *
 * @param key an idempotency key: the id is the same for the same key
 */
export function newSession(key?: string): string {
  return `resp_${key === undefined ? randomUUID() : digestOf(key).slice(0, 32)}`;
}

/** Whether a session was made for responses: it is no conversation that a caller has named. */
export const isOfResponses = (session: string): boolean => session.startsWith('resp_');
