import type { LogSlice } from '../ports/run-store.js';
import type { Followers } from './followers.js';
import { isThenable } from '../ports/file-store.js';
import { joinedSlice, sliceAfter } from './log-slices.js';

export interface Sink {
  /** Writes a slice of the log. Returns false if it takes no more until it has called `Follower.drained`. */
  write(slice: LogSlice): boolean;
  /** The log has ended, and all of it was written. */
  end(): void;
  fail(error: unknown): void;
  /** The stream ends here without `done`. The caller can resume it later. */
  disconnect(): void;
  /** Whether the run asks, after each slice that was read: nothing may follow for long. */
  hold?(asks: boolean): void;
}

/**
 * One reader of one log. It pulls from the log and keeps no queue. A reader that stops costs a cursor and the bytes in its
 * socket, and continues at its cursor when it reads again.
 */
export class Follower {
  /** How far it has read, in characters of JSON since the beginning of the log. */
  offset = 0;
  #isReading = false;
  /** The log has grown since the current read began. */
  #hasNews = false;
  /** What another process has sent since the current read began. */
  #offered: LogSlice | undefined;
  /** The sink takes no more at present. */
  #isBlocked = false;
  #hasLeft = false;

  /**
   * @param cursor the number of the last envelope that the reader has
   * @param group the followers of the run, from whose log it reads
   */
  constructor(
    private cursor: number,
    private readonly sink: Sink,
    private readonly group: Followers,
  ) {
    group.join(this);
  }

  /** There may be news: reads on, unless the sink is blocked. */
  notify(): void {
    this.#hasNews = true;
    try {
      while (!this.#hasLeft && !this.#isReading && !this.#isBlocked) {
        this.#hasNews = false;
        const slice = this.group.read(this.cursor);
        if (isThenable(slice)) return this.#await(Promise.resolve(slice));
        if (!this.#write(slice)) return;
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Another process says what is new: writes it, or reads if something before it is missing. */
  offer(slice: LogSlice): void {
    if (this.#isReading) {
      this.#offered = (this.#offered && joinedSlice(this.#offered, slice)) ?? slice;
      return;
    }
    if (slice.first > this.cursor + 1 || this.#isBlocked) return this.notify();
    try {
      this.#writeNew(slice);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The sink takes more. */
  drained(): void {
    this.#isBlocked = false;
    this.notify();
    this.group.advanced(this);
  }

  /** The reader has gone: nothing more is written. Returns false if it had gone before. */
  leave(): boolean {
    if (this.#hasLeft) return false;
    this.#hasLeft = true;
    this.group.leave(this);
    return true;
  }

  disconnect(): void {
    if (this.leave()) this.sink.disconnect();
  }

  #await(reading: Promise<LogSlice>): void {
    this.#isReading = true;
    reading
      .then((slice) => {
        this.#isReading = false;
        const offered = this.#offered;
        this.#offered = undefined;
        if (this.#hasLeft) return;
        let hasMore = this.#write(slice);
        if (offered) {
          const isNext = offered.first <= this.cursor + 1;
          // What was sent last is the newest. To read on would not end as long as the log grows.
          if (!isNext || offered.first + offered.count > this.cursor) hasMore = !isNext;
          this.#writeNew(offered);
        }
        if (hasMore || this.#hasNews) this.notify();
        this.group.advanced(this);
      })
      .catch((error: unknown) => this.#fail(error));
  }

  #writeNew(offered: LogSlice): void {
    const slice = sliceAfter(offered, this.cursor);
    if (slice && !this.#hasLeft && !this.#isBlocked) this.#write(slice);
  }

  /** Returns whether there may be more to read at once. */
  #write(slice: LogSlice): boolean {
    this.offset = slice.endOffset;
    if (slice.count > 0) {
      this.cursor = slice.first + slice.count - 1;
      this.#isBlocked = !this.sink.write(slice);
    }
    if (slice.ended) this.group.reachedEnd();
    if (slice.ended && this.leave()) this.sink.end();
    else this.sink.hold?.(slice.asks === true);
    return slice.count > 0 && !slice.newest;
  }

  #fail(error: unknown): void {
    if (this.leave()) this.sink.fail(error);
  }
}
