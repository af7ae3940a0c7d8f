import type { Envelope } from './wire/index.js';

/** An envelope and its number. */
export interface LogEntry {
  seq: number;
  envelope: Envelope;
}

/**
 * What a `restarted` envelope leaves of the entries before it.
 *
 * @param from its number: entries with a greater one are void
 *
 * @example
 * if (envelope.type === 'restarted') shown = upTo(shown, envelope.data.from);
 */
export function upTo<Entry extends { seq: number }>(entries: readonly Entry[], from: number): Entry[] {
  return entries.filter(({ seq }) => seq <= from);
}
