import { createHash, type Hash } from 'node:crypto';

/** How much of a text was passed on, and the digest of that. */
export type PassedOn = [length: number, digest: string];

/** A text that is told from its beginning any number of times: only what is new of it is passed on. */
export class GrowingText {
  #passed: PassedOn;
  /** What was told since the beginning. */
  #told = 0;
  #hash = newHash();

  constructor(passed: PassedOn = [0, '']) {
    this.#passed = passed;
  }

  get passedOn(): PassedOn {
    if (!this.isBehind && this.#told > this.#passed[0])
      this.#passed = [this.#told, this.#hash.copy().digest('base64url')];
    return this.#passed;
  }

  /** Whether more was passed on than has been told since the beginning. */
  get isBehind(): boolean {
    return this.#told < this.#passed[0];
  }

  /** What follows is told from the beginning. */
  begin(): void {
    this.#passed = this.passedOn;
    this.#told = 0;
    this.#hash = newHash();
  }

  /** @returns what is new; undefined if something else was passed on in its place */
  take(text: string): string | undefined {
    const [length, digest] = this.#passed;
    const known = text.slice(0, Math.max(0, length - this.#told));
    this.#add(known);
    if (known !== '' && this.#told === length && this.#hash.copy().digest('base64url') !== digest)
      return undefined;
    const fresh = text.slice(known.length);
    this.#add(fresh);
    return fresh;
  }

  /** Not as UTF-8: a text may be told in pieces between the halves of a character. */
  #add(text: string): void {
    this.#hash.update(text, 'utf16le');
    this.#told += text.length;
  }
}

function newHash(): Hash {
  return createHash('sha256');
}
