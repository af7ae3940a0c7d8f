import { Buffer } from 'node:buffer';
import { cursorExpired } from '../contract/refusals.js';
import type { LogSlice } from '../ports/run-store.js';

/**
 * A segment is closed at this length, which is also the most that one read returns. A connection that nobody reads holds the
 * text of one segment; a connection that is read takes a segment in one write.
 */
const SEGMENT_LENGTH = 16 * 1024;

/** A segment is also closed when it has so many groups: joined, their texts take half the memory. */
const SEGMENT_GROUPS = 64;

interface Segment {
  first: number;
  last: number;
  /** Where it starts and ends, in characters of JSON since the beginning of the log. */
  startOffset: number;
  endOffset: number;
  /** One text, because thousands of small ones take twice the memory. */
  lines: string;
}

/**
 * The event log of one run: envelopes numbered 1, 2, 3, … without gaps. It grows at its end and is trimmed at its beginning,
 * one segment at a time. The cost of both does not depend on the length of the log.
 *
 * The newest segment is open. It keeps a text for each group of envelopes that was appended between two reads, because a
 * follower of a growing log reads only the last group. Only the log itself changes its public members.
 */
export class EventLog {
  readonly #closed: Segment[] = [];
  /** The number of the first envelope of the open segment. */
  #first: number;
  /** Where the open segment starts. */
  #startOffset: number;
  /** The groups of the open segment, as lines. */
  #groups: string[] = [];
  /** The number of the first envelope of the last group. */
  #firstOfGroup = 0;
  /** Whether the last group was read, so that the next envelope begins another one. */
  #isRead = true;
  /** The number of the oldest envelope that is kept, or of the next one if none is. */
  oldest: number;
  /** Where that starts. */
  #oldestOffset: number;
  /** How many characters of JSON the newest envelope has; 0 if the log is empty. */
  newestLength = 0;
  ended = false;

  /**
   * @param last the number of the newest envelope; 0 before the first
   * @param endOffset where the log ends, in characters of JSON since its beginning
   */
  constructor(
    public last = 0,
    public endOffset = 0,
  ) {
    this.#first = this.oldest = last + 1;
    this.#startOffset = this.#oldestOffset = endOffset;
  }

  /** How many characters of JSON are kept. */
  get length(): number {
    return this.endOffset - this.#oldestOffset;
  }

  /** Appends one envelope. Returns whether a segment was closed, and so may be trimmed. */
  append(envelope: string): boolean {
    const isFull =
      this.endOffset - this.#startOffset >= SEGMENT_LENGTH ||
      (this.#isRead && this.#groups.length >= SEGMENT_GROUPS);
    if (isFull) this.#close();
    this.last++;
    if (this.#isRead) {
      this.#firstOfGroup = this.last;
      this.#groups.push(envelope);
      this.#isRead = false;
    } else {
      const newest = this.#groups.length - 1;
      this.#groups[newest] = `${this.#groups[newest]}\n${envelope}`;
    }
    this.newestLength = envelope.length;
    this.endOffset += envelope.length;
    return isFull;
  }

  end(): void {
    this.ended = true;
    this.#groups = [this.#joined()];
    this.#firstOfGroup = this.#first;
  }

  /**
   * Drops the oldest segment, unless it is the open one.
   *
   * @param kept how many characters before the newest envelope must stay
   * @returns how many characters were dropped; 0 if nothing can be dropped
   */
  trim(kept = 0): number {
    const oldest = this.#closed[0];
    if (!oldest || this.endOffset - oldest.endOffset - this.newestLength < kept) return 0;
    this.#closed.shift();
    this.oldest = oldest.last + 1;
    this.#oldestOffset = oldest.endOffset;
    return oldest.endOffset - oldest.startOffset;
  }

  /**
   * Returns envelopes after a cursor: one segment at most.
   *
   * @throws {QueryError} `cursor_expired`: they were trimmed
   */
  read(after: number): LogSlice {
    const first = after + 1;
    if (first < this.#first) return this.#readClosed(first);
    const count = Math.max(0, this.last - after);
    const lines = count === 0 ? '' : this.#readOpen(first);
    return { first, count, lines, endOffset: this.endOffset, ended: this.ended, newest: true };
  }

  #readOpen(first: number): string {
    this.#isRead = true;
    if (first >= this.#firstOfGroup) return dropLines(this.#groups.at(-1)!, first - this.#firstOfGroup);
    return dropLines(this.#groups.join('\n'), first - this.#first);
  }

  #readClosed(first: number): LogSlice {
    if (first < this.oldest) throw cursorExpired(first - 1, this.oldest, this.last);
    const { last, endOffset, lines, ...segment } = this.#find(first);
    const count = last - first + 1;
    return { first, count, lines: dropLines(lines, first - segment.first), endOffset, ended: false };
  }

  #close(): void {
    this.#closed.push({
      first: this.#first,
      last: this.last,
      startOffset: this.#startOffset,
      endOffset: this.endOffset,
      lines: this.#joined(),
    });
    this.#first = this.last + 1;
    this.#startOffset = this.endOffset;
    this.#groups = [];
    this.#isRead = true;
  }

  #joined(): string {
    const lines = this.#groups.join('\n');
    // V8 keeps a joined string as a tree of its pieces until something reads through it.
    Buffer.byteLength(lines);
    return lines;
  }

  #find(seq: number): Segment {
    let low = 0;
    let high = this.#closed.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#closed[middle]!.first <= seq) low = middle;
      else high = middle - 1;
    }
    return this.#closed[low]!;
  }
}

/** A text without its first lines. It has more lines than these. */
function dropLines(text: string, count: number): string {
  let at = 0;
  for (let dropped = 0; dropped < count; dropped++) at = text.indexOf('\n', at) + 1;
  return at === 0 ? text : text.slice(at);
}
