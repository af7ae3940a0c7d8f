import type { Followers } from './followers.js';
import type { Awaitable, LogSlice } from '../ports/run-store.js';

/** A log as its followers see it. */
export interface ReadableLog {
  /** What comes after the envelope with this number. */
  read(after: number): Awaitable<LogSlice>;
}

/** Where a follower delivers what it reads. */
export interface Sink {
  /** Takes one stretch of the log. False: no more, please, until `Follower.wake` is called. */
  deliver(slice: LogSlice): boolean;
  /** The log has ended, and all of it was delivered. */
  end(): void;
  /** The log cannot be read any further. */
  fail(error: unknown): void;
  /** The service is going down: the stream is cut here and can be resumed later. */
  disconnect(): void;
}

/**
 * One reader of one run. It pulls from the log: nothing is queued for it, so that one who does not read costs a cursor
 * and what its socket holds, and goes on where it was when it reads again.
 */
export class Follower {
  /** How far it has read, in characters of JSON since the beginning of the log. */
  offset = 0;
  #reading = false;
  /** The log has grown since the read that is under way began. */
  #news = false;
  #blocked = false;
  #left = false;

  /**
   * @param log what is read
   * @param cursor the number of the last envelope that the reader has already
   * @param sink where what follows is delivered
   * @param audience the followers of the run, where it is alive in this process; otherwise what there is is delivered, and
   * unless that ends with `done` the stream is cut
   */
  constructor(
    private readonly log: ReadableLog,
    private cursor: number,
    private readonly sink: Sink,
    private readonly audience: Followers | undefined,
  ) {
    audience?.join(this);
  }

  /** There may be news: reads on, unless the sink is not ready for more. */
  notify(): void {
    this.#news = true;
    try {
      while (!this.#left && !this.#reading && !this.#blocked) {
        this.#news = false;
        const slice = this.log.read(this.cursor);
        if (slice instanceof Promise) return this.#await(slice);
        if (!this.#deliver(slice)) return;
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The sink takes more. */
  drained(): void {
    this.#blocked = false;
    this.notify();
    this.audience?.advanced();
  }

  /** Nothing more is delivered. */
  leave(): void {
    this.#left = true;
    this.audience?.leave(this);
  }

  /** Cuts the stream, unless it has ended. */
  disconnect(): void {
    if (this.#left) return;
    this.leave();
    this.sink.disconnect();
  }

  #await(reading: Promise<LogSlice>): void {
    this.#reading = true;
    reading
      .then((slice) => {
        this.#reading = false;
        if (this.#left) return;
        if (this.#deliver(slice) || this.#news) this.notify();
        this.audience?.advanced();
      })
      .catch((error: unknown) => this.#fail(error));
  }

  /** Returns whether there may be more to read at once. */
  #deliver(slice: LogSlice): boolean {
    this.offset = slice.endOffset;
    if (slice.count > 0) {
      this.cursor = slice.first + slice.count - 1;
      this.#blocked = !this.sink.deliver(slice);
    }
    if (slice.ended && !this.#left) {
      this.leave();
      this.sink.end();
    }
    if (slice.count > 0) return true;
    // Nobody would tell of what comes: whoever asks again finds out.
    if (!this.audience) this.disconnect();
    return false;
  }

  #fail(error: unknown): void {
    if (this.#left) return;
    this.leave();
    this.sink.fail(error);
  }
}
