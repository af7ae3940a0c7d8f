import { hash } from 'node:crypto';

/** How many of the newest envelopes are remembered. */
const REMEMBERED = 256;

/** An envelope that was passed on: its number in the remote log, and its digest. */
type Passed = [seq: number, digest: string];

/** What is kept of this in a checkpoint. */
export interface PassedOnState {
  /** The number of the newest envelope that is not remembered. */
  forgotten: number;
  recent: Passed[];
  expected: string[];
}

/**
 * The newest envelopes that were passed on. If the remote run is restarted, the void ones are expected again: followers have
 * them already, and the log of a run takes nothing back.
 */
export class PassedOn {
  #forgotten: number;
  #recent: Passed[];
  /** The digests of envelopes that are void in the remote log, and were passed on. */
  #expected: string[];

  constructor({ forgotten, recent, expected }: PassedOnState = { forgotten: 0, recent: [], expected: [] }) {
    this.#forgotten = forgotten;
    this.#recent = recent;
    this.#expected = expected;
  }

  get state(): PassedOnState {
    this.#trim(REMEMBERED);
    return { forgotten: this.#forgotten, recent: this.#recent, expected: this.#expected };
  }

  /** Whether envelopes were passed on that have not come again. */
  get isBehind(): boolean {
    return this.#expected.length > 0;
  }

  /**
   * Takes the next envelope of the remote log.
   *
   * @returns whether it is new; undefined if another one was passed on in its place
   */
  take(seq: number, text: string): boolean | undefined {
    const digest = hash('sha256', text, 'base64url');
    const expected = this.#expected.shift();
    if (expected !== undefined && expected !== digest) return undefined;
    this.#recent.push([seq, digest]);
    if (this.#recent.length >= 2 * REMEMBERED) this.#trim(REMEMBERED);
    return expected === undefined;
  }

  /**
   * The envelopes with a number greater than `from` are void.
   *
   * @returns false if some of them are not remembered
   */
  restart(from: number): boolean {
    if (from < this.#forgotten) return false;
    const first = this.#recent.findIndex(([seq]) => seq > from);
    const again = first === -1 ? [] : this.#recent.splice(first);
    this.#expected.unshift(...again.map(([, digest]) => digest));
    return true;
  }

  #trim(length: number): void {
    if (this.#recent.length <= length) return;
    const dropped = this.#recent.splice(0, this.#recent.length - length);
    this.#forgotten = dropped.at(-1)![0];
  }
}
