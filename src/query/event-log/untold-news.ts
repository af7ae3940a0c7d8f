import { type Awaitable, isThenable } from '../ports/file-store.js';
import type { LogSlice, RunRecord, RunStore } from '../ports/run-store.js';
import { joinedSlice } from './log-slices.js';

/** The most characters of JSON that are told: a notification of Postgres takes 8,000 bytes. */
const TOLD_LENGTH = 6_000;

/**
 * What the other processes were not told of the log of a run that this process executes. It has only what the store returns at
 * once, from memory; the others read the rest themselves.
 */
export class UntoldNews {
  /** The number of the newest envelope that they were told of; undefined if that is not known. */
  #toldSeq: number | undefined;

  constructor(
    private readonly run: Pick<RunRecord, 'id' | 'owner'>,
    private readonly store: Pick<RunStore, 'read' | 'find'>,
  ) {}

  /** The others read the log up to its end. */
  skip(): void {
    const { owner, id } = this.run;
    this.#toldSeq = atHand(() => this.store.find(owner, id))?.lastSeq;
  }

  /** Returns it, without envelopes if there is none, and counts it as told. Undefined if the others have to read the log. */
  take(): LogSlice | undefined {
    if (this.#toldSeq === undefined) return undefined;
    const slice = this.#read(this.#toldSeq);
    if (slice) this.#toldSeq = slice.first + slice.count - 1;
    else this.skip();
    return slice;
  }

  #read(after: number): LogSlice | undefined {
    let untold: LogSlice | undefined;
    for (;;) {
      const from = untold ? untold.first + untold.count - 1 : after;
      const slice = atHand(() => this.store.read(this.run, from));
      untold = slice && untold ? joinedSlice(untold, slice) : slice;
      if (!slice || !untold || untold.lines.length > TOLD_LENGTH) return undefined;
      if (slice.newest || slice.count === 0) return untold;
    }
  }
}

/** What a store returns at once. */
function atHand<T>(read: () => Awaitable<T>): T | undefined {
  try {
    const value = read();
    if (!isThenable(value)) return value;
    value.catch(() => undefined);
  } catch {
    // What cannot be read here, the others cannot read either.
  }
  return undefined;
}
