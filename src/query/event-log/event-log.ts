import { Buffer } from 'node:buffer';
import { cursorExpired } from '../contract/refusals.js';
import type { LogSlice } from '../ports/run-store.js';

/**
 * A segment is closed at this length, which is also the most that one read returns. A connection that nobody reads holds the
 * text of one segment; a connection that is read takes a segment in one write.
 */
const SEGMENT_LENGTH = 16 * 1024;

/** A segment is also closed when it has so many texts: joined, they take half the memory. */
const SEGMENT_TEXTS = 64;

/** Consecutive envelopes. */
interface Segment {
  first: number;
  last: number;
  /** Where it starts, in characters of JSON since the beginning of the log. */
  startOffset: number;
  length: number;
  /** One text, because thousands of small ones take twice the memory. */
  lines: string;
}

/**
 * The event log of one run: envelopes numbered 1, 2, 3, … without gaps. It grows at its end and is trimmed at its beginning,
 * one segment at a time. The cost of both does not depend on the length of the log.
 *
 * The newest segment is open. It keeps a text for each group of envelopes that was appended between two reads, because a
 * follower of a growing log reads only the last group.
 */
export class EventLog {
  #closed: Segment[] = [];
  /** The number of the first envelope of the open segment. */
  #first: number;
  /** Where the open segment starts, in characters of JSON. */
  #startOffset: number;
  /** The groups of the open segment, as lines. */
  #texts: string[] = [];
  /** The number of the first envelope of the last group. */
  #firstOfLastText = 0;
  /** Envelopes that were appended since the last read, as lines. */
  #unread = '';
  /** The number of the first of them. */
  #firstUnread: number;
  #last: number;
  #newestLength = 0;
  #endOffset: number;
  #ended = false;

  /**
   * @param last the number of the envelope before the first one of this log
   * @param endOffset where that envelope ends, in characters of JSON
   */
  constructor(last = 0, endOffset = 0) {
    this.#first = last + 1;
    this.#firstUnread = last + 1;
    this.#last = last;
    this.#startOffset = endOffset;
    this.#endOffset = endOffset;
  }

  /** The number of the newest envelope; 0 before the first. */
  get last(): number {
    return this.#last;
  }

  get oldest(): number {
    return this.#closed[0]?.first ?? this.#first;
  }

  /** Where the log ends, in characters of JSON since its beginning. */
  get endOffset(): number {
    return this.#endOffset;
  }

  /** How many characters of JSON are kept. */
  get length(): number {
    return this.#endOffset - (this.#closed[0]?.startOffset ?? this.#startOffset);
  }

  /** How many characters of JSON the newest envelope has; 0 if the log is empty. */
  get newestLength(): number {
    return this.#newestLength;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Appends one envelope. Returns whether a segment was closed, and so may be trimmed. */
  append(envelope: string): boolean {
    const isFull =
      this.#endOffset - this.#startOffset >= SEGMENT_LENGTH || this.#texts.length >= SEGMENT_TEXTS;
    if (isFull) this.#close();
    this.#unread = this.#unread === '' ? envelope : `${this.#unread}\n${envelope}`;
    this.#newestLength = envelope.length;
    this.#endOffset += envelope.length;
    this.#last++;
    return isFull;
  }

  end(): void {
    this.#ended = true;
    this.#gather();
    if (this.#texts.length === 0) return;
    this.#texts = [this.#joined()];
    this.#firstOfLastText = this.#first;
  }

  /**
   * Drops the oldest segment, unless it is the open one.
   *
   * @param kept how many characters before the newest envelope must stay
   * @returns how many characters were dropped; 0 if nothing can be dropped
   */
  trim(kept = 0): number {
    const oldest = this.#closed[0];
    if (!oldest || this.length - oldest.length - this.#newestLength < kept) return 0;
    this.#closed.shift();
    return oldest.length;
  }

  /**
   * Returns envelopes after a cursor: one segment at most.
   *
   * @throws {QueryError} `cursor_expired`: they were trimmed
   */
  read(after: number): LogSlice {
    const endOffset = this.#endOffset;
    const ended = this.#ended;
    if (after >= this.#last) return { first: after + 1, count: 0, lines: '', endOffset, ended };
    if (after + 1 >= this.#first) {
      this.#gather();
      return {
        first: after + 1,
        count: this.#last - after,
        lines: this.#linesAfter(after),
        endOffset,
        ended,
      };
    }
    if (after + 1 < this.oldest) throw cursorExpired(after, this.oldest, this.#last);
    const { first, last, startOffset, length, lines } = this.#find(after + 1);
    return {
      first: after + 1,
      count: last - after,
      lines: dropLines(lines, after + 1 - first),
      endOffset: startOffset + length,
      ended: false,
    };
  }

  #close(): void {
    this.#gather();
    this.#closed.push({
      first: this.#first,
      last: this.#last,
      startOffset: this.#startOffset,
      length: this.#endOffset - this.#startOffset,
      lines: this.#joined(),
    });
    this.#first = this.#last + 1;
    this.#startOffset = this.#endOffset;
    this.#texts = [];
  }

  #gather(): void {
    if (this.#unread === '') return;
    this.#texts.push(this.#unread);
    this.#firstOfLastText = this.#firstUnread;
    this.#firstUnread = this.#last + 1;
    this.#unread = '';
  }

  #joined(): string {
    const lines = this.#texts.join('\n');
    // V8 keeps a joined string as a tree of its pieces until something reads through it.
    Buffer.byteLength(lines);
    return lines;
  }

  /** What follows an envelope in the open segment. */
  #linesAfter(after: number): string {
    if (after + 1 >= this.#firstOfLastText)
      return dropLines(this.#texts.at(-1)!, after + 1 - this.#firstOfLastText);
    return dropLines(this.#texts.join('\n'), after + 1 - this.#first);
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
