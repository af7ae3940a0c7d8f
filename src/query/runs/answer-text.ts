import type { Envelope } from '../contract/wire.js';

/** How many characters of an answer's text a turn keeps. */
const KEPT_LENGTH = 1024 * 1024;

/** The text of an answer as a session's turn keeps it: the contents of its `message` envelopes, joined, from the first on. */
export class AnswerText {
  /** What there is of it. */
  value = '';

  /** Whether a turn keeps no more of it. */
  get isFull(): boolean {
    return this.value.length >= KEPT_LENGTH;
  }

  /** Takes the next envelope of the log. */
  add({ type, data }: Envelope): void {
    if (type !== 'message' || this.isFull) return;
    this.value += (data as { content: string }).content.slice(0, KEPT_LENGTH - this.value.length);
  }
}
