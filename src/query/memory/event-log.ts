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
  /** Envelopes as they were gathered between two reads, as lines: thousands of texts cost twice the memory of one. */
  texts: string[];
  /** For each of `texts` the number of its last envelope. */
  lasts: number[];
}

/**
 * The event log of one run: envelopes numbered 1, 2, 3, … without a hole. It grows at its end and is trimmed at its
 * beginning, a stretch at a time, so that neither costs more the longer the log is.
 */
export class EventLog {
  #stretches: Stretch[] = [];
  /** Envelopes at the end of the newest stretch that nobody has read yet. */
  #unread: string[] = [];
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
    if (stretch === undefined || stretch.length >= STRETCH_LENGTH) stretch = this.#open();
    this.#unread.push(envelope);
    stretch.length += envelope.length;
    this.#position += envelope.length;
    this.#last++;
    return this.#stretches.length > 1;
  }

  /** Nothing will follow. */
  end(): void {
    this.#ended = true;
  }

  /** Drops the oldest stretch, unless it is the newest too. Returns how many characters that were. */
  trim(): number {
    return this.#stretches.length < 2 ? 0 : this.#stretches.shift()!.length;
  }

  /** @throws {QueryError} `cursor_expired` */
  read(after: number): LogSlice {
    if (after >= this.#last) {
      return { first: after + 1, count: 0, lines: '', position: this.#position, ended: this.#ended };
    }
    if (after + 1 < this.oldest) throw this.#expired(after);
    this.#gather();
    const stretch = this.#find(after + 1);
    const isNewest = stretch === this.#stretches.at(-1);
    return {
      first: after + 1,
      count: lastOf(stretch) - after,
      lines: linesAfter(stretch, after),
      position: stretch.start + stretch.length,
      ended: this.#ended && isNewest,
    };
  }

  /** Begins a stretch. */
  #open(): Stretch {
    this.#gather();
    // The newest is being read, mostly, text by text.
    const read = this.#stretches.at(-2);
    if (read && read.texts.length > 1) {
      read.lasts = [lastOf(read)];
      read.texts = [read.texts.join('\n')];
    }
    const stretch: Stretch = {
      first: this.#last + 1,
      start: this.#position,
      length: 0,
      texts: [],
      lasts: [],
    };
    this.#stretches.push(stretch);
    return stretch;
  }

  /** Makes one text of what nobody has read yet. */
  #gather(): void {
    if (this.#unread.length === 0) return;
    const { texts, lasts } = this.#stretches.at(-1)!;
    texts.push(this.#unread.join('\n'));
    lasts.push(this.#last);
    this.#unread = [];
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

/**
 * What follows the first lines of a text.
 *
 * @param text lines, with `\n` between them
 * @param count how many lines to pass over: fewer than there are
 */
export function dropLines(text: string, count: number): string {
  let at = 0;
  for (let dropped = 0; dropped < count; dropped++) at = text.indexOf('\n', at) + 1;
  return at === 0 ? text : text.slice(at);
}

function lastOf({ lasts }: Stretch): number {
  return lasts[lasts.length - 1]!;
}

/** What follows an envelope in its stretch. */
function linesAfter({ first, texts, lasts }: Stretch, after: number): string {
  let index = texts.length - 1;
  while (index > 0 && lasts[index - 1]! > after) index--;
  const before = index === 0 ? first - 1 : lasts[index - 1]!;
  const lines = index === texts.length - 1 ? texts[index]! : texts.slice(index).join('\n');
  return dropLines(lines, after - before);
}
