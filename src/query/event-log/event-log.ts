import { Buffer } from 'node:buffer';
import { cursorExpired } from '../contract/refusals.js';
import type { LogSlice } from '../ports/run-store.js';

/**
 * A stretch of the log is closed when it has so many characters; it is also the most that is read at once. A connection
 * that nobody reads holds the text of one stretch, a connection that is read has one write for it.
 */
const SEGMENT_LENGTH = 16 * 1024;

/** It is also closed when it has so many texts: one of them all takes half of their memory. */
const SEGMENT_TEXTS = 64;

/** Consecutive envelopes, and where they stand. */
interface Segment {
  /** The number of the first envelope. */
  first: number;
  /** The number of the last envelope. */
  last: number;
  /** How many characters of JSON come before it, since the beginning of the log. */
  start: number;
  /** How many characters of JSON it has. */
  length: number;
  /** One text: thousands of them cost twice the memory. */
  lines: string;
}

/**
 * The event log of one run: envelopes numbered 1, 2, 3, … without a hole. It grows at its end and is trimmed at its
 * beginning, a stretch at a time, so that neither costs more the longer the log is.
 *
 * Its newest stretch is open. There it keeps what was gathered between two reads as texts of their own, because those who
 * follow a log that grows read just the last of them.
 */
export class EventLog {
  #closed: Segment[] = [];
  /** The number of the first envelope of the open stretch. */
  #first: number;
  /** How many characters of JSON come before the open stretch. */
  #start: number;
  /** What was gathered, as lines. */
  #texts: string[] = [];
  /** The number of the first envelope of the last of them. */
  #firstOfText = 0;
  /** What nobody has read yet, as lines. */
  #unread = '';
  /** The number of its first envelope. */
  #firstUnread: number;
  #last: number;
  #newestLength = 0;
  #position: number;
  #ended = false;

  /**
   * @param last the number of the envelope before the first one here
   * @param position how many characters of JSON come before it
   */
  constructor(last = 0, position = 0) {
    this.#first = last + 1;
    this.#firstUnread = last + 1;
    this.#last = last;
    this.#start = position;
    this.#position = position;
  }

  /** The number of the newest envelope; 0 before the first. */
  get last(): number {
    return this.#last;
  }

  /** The number of the first envelope that is kept. */
  get oldest(): number {
    return this.#closed[0]?.first ?? this.#first;
  }

  /** How many characters of JSON there have been, since the beginning of the log. */
  get endOffset(): number {
    return this.#position;
  }

  /** How many characters of JSON are kept. */
  get length(): number {
    return this.#position - (this.#closed[0]?.start ?? this.#start);
  }

  /** How many characters of JSON the newest envelope has; 0 before the first here. */
  get newestLength(): number {
    return this.#newestLength;
  }

  /** Whether nothing will follow. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Returns whether a stretch was closed, and may be trimmed. */
  append(envelope: string): boolean {
    const isFull = this.#position - this.#start >= SEGMENT_LENGTH || this.#texts.length >= SEGMENT_TEXTS;
    if (isFull) this.#close();
    this.#unread = this.#unread === '' ? envelope : `${this.#unread}\n${envelope}`;
    this.#newestLength = envelope.length;
    this.#position += envelope.length;
    this.#last++;
    return isFull;
  }

  /** Nothing will follow. */
  end(): void {
    this.#ended = true;
    this.#gather();
    if (this.#texts.length === 0) return;
    this.#texts = [this.#joined()];
    this.#firstOfText = this.#first;
  }

  /**
   * Drops the oldest stretch, unless it is the open one.
   *
   * @param kept so many characters before the newest envelope are not dropped
   * @returns how many characters were dropped; 0 where that is not possible
   */
  trim(kept = 0): number {
    const oldest = this.#closed[0];
    if (!oldest || this.length - oldest.length - this.#newestLength < kept) return 0;
    this.#closed.shift();
    return oldest.length;
  }

  /** @throws {QueryError} `cursor_expired` */
  read(after: number): LogSlice {
    const position = this.#position;
    const ended = this.#ended;
    if (after >= this.#last) return { first: after + 1, count: 0, lines: '', endOffset: position, ended };
    if (after + 1 >= this.#first) {
      this.#gather();
      return {
        first: after + 1,
        count: this.#last - after,
        lines: this.#linesAfter(after),
        endOffset: position,
        ended,
      };
    }
    if (after + 1 < this.oldest) throw cursorExpired(after, this.oldest, this.#last);
    const { first, last, start, length, lines } = this.#find(after + 1);
    return {
      first: after + 1,
      count: last - after,
      lines: dropLines(lines, after + 1 - first),
      endOffset: start + length,
      ended: false,
    };
  }

  /** Closes the open stretch, and begins the next. */
  #close(): void {
    this.#gather();
    this.#closed.push({
      first: this.#first,
      last: this.#last,
      start: this.#start,
      length: this.#position - this.#start,
      lines: this.#joined(),
    });
    this.#first = this.#last + 1;
    this.#start = this.#position;
    this.#texts = [];
  }

  /** Makes one text of what nobody has read yet. */
  #gather(): void {
    if (this.#unread === '') return;
    this.#texts.push(this.#unread);
    this.#firstOfText = this.#firstUnread;
    this.#firstUnread = this.#last + 1;
    this.#unread = '';
  }

  /** The open stretch as one text. */
  #joined(): string {
    const lines = this.#texts.join('\n');
    // Until it is looked through, it is kept as a tree of the pieces that it was put together from.
    Buffer.byteLength(lines);
    return lines;
  }

  /** What follows an envelope in the open stretch. */
  #linesAfter(after: number): string {
    if (after + 1 >= this.#firstOfText) return dropLines(this.#texts.at(-1)!, after + 1 - this.#firstOfText);
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

/** What follows the first lines of a text that has more of them. */
function dropLines(text: string, count: number): string {
  let at = 0;
  for (let dropped = 0; dropped < count; dropped++) at = text.indexOf('\n', at) + 1;
  return at === 0 ? text : text.slice(at);
}
