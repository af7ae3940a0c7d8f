import type { Envelope } from '../script.js';
import { printable, Unmet } from '../unmet.js';

/** An event of a stream. */
export interface Frame {
  /** Undefined in the plain profile. */
  id: string | undefined;
  envelope: Envelope;
}

/** What the bytes of a stream have been so far. */
export interface Reading {
  frames: Frame[];
  keepAlives: number;
  /** The times of `retry:`, in milliseconds. */
  retries: number[];
  /** What is not a whole frame yet. */
  rest: string;
}

/** The only things that a profile may consist of, one after another. */
const GRAMMAR = {
  plain: { event: /()data: (\{[^\r\n]*\})\n\n/y, keepAlive: /\n\n/y, retry: /(?!)/y },
  full: { event: /id: ([^\r\n]*)\ndata: (\{[^\r\n]*\})\n\n/y, keepAlive: /:\n/y, retry: /retry: (\d+)\n/y },
} as const;

export type Profile = keyof typeof GRAMMAR;

/**
 * Reads the bytes of a stream, which must be exactly those of a profile.
 *
 * @param isWhole whether the stream has ended, so that nothing may be left
 * @throws {Unmet} the bytes are not UTF-8, not of the profile, or an event is no envelope
 */
export function readFrames(bytes: Buffer, profile: Profile, isWhole: boolean): Reading {
  const text = decoded(bytes, isWhole);
  const { event, keepAlive, retry } = GRAMMAR[profile];
  const reading: Reading = { frames: [], keepAlives: 0, retries: [], rest: '' };
  let at = 0;
  const next = (pattern: RegExp) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at = pattern.lastIndex;
    return found;
  };
  for (let found; at < text.length;) {
    if ((found = next(event)))
      reading.frames.push({ id: profile === 'full' ? found[1] : undefined, envelope: envelopeOf(found[2]!) });
    else if (next(keepAlive)) reading.keepAlives++;
    else if ((found = next(retry))) reading.retries.push(Number(found[1]));
    else break;
  }
  reading.rest = text.slice(at);
  if (reading.rest !== '' && (isWhole || !isBeginning(reading.rest, profile)))
    throw new Unmet(`only the bytes of the ${profile} profile`, `at byte ${at}: ${printable(reading.rest)}`);
  return reading;
}

/** Whether more bytes can make a frame of this. */
function isBeginning(rest: string, profile: Profile): boolean {
  if (profile === 'plain') return /^(?:\n|d(?:a(?:t(?:a(?::(?: (?:\{[^\r\n]*\n?)?)?)?)?)?)?)$/.test(rest);
  return /^(?::|r[etry: \d]*|i(?:d(?::(?: (?:[^\r\n]*(?:\n(?:d[^\r\n]*\n?)?)?)?)?)?)?)$/.test(rest);
}

function decoded(bytes: Buffer, isWhole: boolean): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: !isWhole });
  } catch {
    throw new Unmet('a stream in UTF-8', 'bytes that are not UTF-8');
  }
}

function envelopeOf(json: string): Envelope {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new Unmet('one line of JSON in each event', printable(json));
  }
  const { type, data } = value as Partial<Envelope>;
  if (typeof type !== 'string' || data === undefined)
    throw new Unmet('an envelope {type, data} in each event', printable(json));
  return { type, data };
}
