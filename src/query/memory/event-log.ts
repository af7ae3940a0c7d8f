import { QueryError } from '../errors.js';
import type { LogSlice } from '../ports/run-store.js';

/**
 * A stretch of the log is closed when it has so many characters; it is also the most that is read at once. A connection
 * that nobody reads holds the text of one stretch, a connection that is read has one write for it.
 */
const STRETCH_LENGTH = 16 * 1024;

/** Consecutive envelopes, and where they stand. */
interface Stretch {
  /** The number of the first envelope. */
  first: number;
  /** How many characters of JSON come before it, since the beginning of the log. */
  start: number;
  length: number;
  /** One text of lines where it is not at the end of a log any more: thousands of texts cost twice the memory of one. */
  envelopes: string[] | string;
}

/**
 * What was read last, of any log: the followers of a run read one after another, mostly the same, and what is the same
 * object to them has to be written as text only once.
 */
let latest: { log: EventLog; after: number; last: number; slice: LogSlice } | undefined;

/**
 * The event log of one run: envelopes numbered 1, 2, 3, … without a hole. It grows at its end and is trimmed at its
 * beginning, a stretch at a time, so that neither costs more the longer the log is.
 */
export class EventLog {
  #stretches: Stretch[] = [];
  /** Those of the newest stretch. */
  #newest: string[] = [];
  #last: number;
  #position: number;
  #ended = false;

  /**
   * @param last the number of the envelope before the first one here
   * @param position how many characters of JSON come before it
   */
  constructor(last = 0, position = 0) {
    this.#last = last;
    this.#position = position;
  }

  /** The number of the newest envelope; 0 before the first. */
  get last(): number {
    return this.#last;
  }

  /** The number of the first envelope that is kept. */
  get oldest(): number {
    return this.#stretches[0]?.first ?? this.#last + 1;
  }

  /** How many characters of JSON there have been, since the beginning of the log. */
  get position(): number {
    return this.#position;
  }

  /** How many characters of JSON are kept. */
  get length(): number {
    return this.#position - (this.#stretches[0]?.start ?? this.#position);
  }

  /** Whether nothing will follow. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Returns whether there is something that can be trimmed. */
  append(envelope: string): boolean {
    let stretch = this.#stretches.at(-1);
    if (stretch === undefined || stretch.length >= STRETCH_LENGTH) {
      // The one before is being read, mostly.
      const read = this.#stretches.at(-2);
      if (read) read.envelopes = linesOf(read).join('\n');
      this.#newest = [];
      stretch = { first: this.#last + 1, start: this.#position, length: 0, envelopes: this.#newest };
      this.#stretches.push(stretch);
    }
    this.#newest.push(envelope);
    stretch.length += envelope.length;
    this.#position += envelope.length;
    this.#last++;
    return this.#stretches.length > 1;
  }

  /** Nothing will follow. */
  end(): void {
    this.#ended = true;
    if (latest?.log === this) latest = undefined;
  }

  /** Drops the oldest stretch, unless it is the newest too. Returns how many characters that were. */
  trim(): number {
    return this.#stretches.length < 2 ? 0 : this.#stretches.shift()!.length;
  }

  /** @throws {QueryError} `cursor_expired` */
  read(after: number): LogSlice {
    if (after >= this.#last) {
      return { first: after + 1, envelopes: [], position: this.#position, ended: this.#ended };
    }
    if (after + 1 < this.oldest) throw this.#expired(after);
    if (latest?.log !== this || latest.after !== after || latest.last !== this.#last) {
      latest = { log: this, after, last: this.#last, slice: this.#slice(after) };
    }
    return latest.slice;
  }

  #slice(after: number): LogSlice {
    const stretch = this.#find(after + 1);
    const envelopes = linesOf(stretch).slice(after + 1 - stretch.first);
    const isLast = stretch === this.#stretches.at(-1);
    return {
      first: after + 1,
      envelopes,
      position: stretch.start + stretch.length,
      ended: this.#ended && isLast,
    };
  }

  #find(seq: number): Stretch {
    let low = 0;
    let high = this.#stretches.length - 1;
    // Followers mostly read the end.
    if (seq >= this.#stretches[high]!.first) return this.#stretches[high]!;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#stretches[middle]!.first <= seq) low = middle;
      else high = middle - 1;
    }
    return this.#stretches[low]!;
  }

  #expired(after: number): QueryError {
    const { oldest, last } = this;
    return new QueryError(
      'cursor_expired',
      `Envelope ${after + 1} is no longer kept; the log still has ${oldest} to ${last}.`,
      { oldest, latest: last },
    );
  }
}

function linesOf({ envelopes }: Stretch): string[] {
  return typeof envelopes === 'string' ? envelopes.split('\n') : envelopes;
}
