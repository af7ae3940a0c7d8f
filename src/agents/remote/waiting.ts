import { setTimeout as pause } from 'node:timers/promises';

const FIRST_MS = 100;
const LONGEST_MS = 5_000;

/**
 * Waits before another try: twice as long as before, less a random part, so that many runs do not try at the same moment.
 *
 * @param tries how many tries have failed, from 1
 * @param leastMs what the remote service asks for
 * @throws the reason of the signal
 */
export async function waitBefore(tries: number, leastMs: number, signal: AbortSignal): Promise<void> {
  const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** (tries - 1));
  await pause(Math.max(leastMs, longest * (0.5 + Math.random() / 2)), undefined, { signal });
}

/** The milliseconds of `Retry-After` (RFC 9110 §10.2.3), which is in seconds or a date; 0 without a valid one. */
export function retryAfterMs(header: string | undefined): number {
  if (header === undefined) return 0;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return ms > 0 ? ms : 0;
}
