import type { DeliveryResult } from '../ports/delivery-store.js';
import type { Answer } from './post.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The pauses before the second try and the later ones (Standard Webhooks 1.0, "Deliverability and reliability"). */
const PAUSES = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];

/** A pause is up to this share longer: endpoints that come back do not get everything at once. */
const JITTER = 0.1;

/** `Retry-After` may make a pause this long, in milliseconds. */
const LONGEST = 24 * HOUR;

/** The endpoint wants no more webhooks. */
export const isGone = ({ status }: Answer): boolean => status === 410;

/**
 * What becomes of a delivery that was answered, or not.
 *
 * @param tries how often it was tried before
 * @param answer or why there is none
 * @param now milliseconds since the epoch
 */
export function resultOf(tries: number, answer: Answer | { error: string }, now: number): DeliveryResult {
  if ('error' in answer) return failed(tries, answer.error, 0);
  const { status, retryAfter } = answer;
  if (status >= 200 && status < 300) return { status: 'delivered' };
  const error = `The endpoint has answered ${status}.`;
  return isGone(answer) ? { status: 'failed', error } : failed(tries, error, askedPause(retryAfter, now));
}

function failed(tries: number, error: string, least: number): DeliveryResult {
  const pause = PAUSES[tries];
  if (pause === undefined) return { status: 'failed', error };
  const afterMs = Math.round(Math.max(pause, least) * (1 + JITTER * Math.random()));
  return { status: 'waiting', error, afterMs };
}

/** The pause that `Retry-After` asks for, in milliseconds: seconds, or a date (RFC 9110 §10.2.3). */
function askedPause(retryAfter: string | undefined, now: number): number {
  if (retryAfter === undefined) return 0;
  const ms = /^\d+$/.test(retryAfter) ? Number(retryAfter) * SECOND : Date.parse(retryAfter) - now;
  return Math.min(Math.max(ms || 0, 0), LONGEST);
}
