import type { Envelope } from '../contract/wire.js';

/** The most characters of an answer's text that a turn keeps. */
const KEPT_LENGTH = 1024 * 1024;

/** The text of an answer as a turn keeps it: the contents of its `message` envelopes, joined. */
export class AnswerText {
  /** @param value the text so far */
  constructor(public value = '') {}

  /** Whether the text has its full length: the rest of the answer is ignored. */
  get isFull(): boolean {
    return this.value.length >= KEPT_LENGTH;
  }

  /** Adds the next envelope of the log. */
  add({ type, data }: Envelope): void {
    if (type !== 'message' || this.isFull) return;
    this.value += (data as { content: string }).content.slice(0, KEPT_LENGTH - this.value.length);
  }
}
